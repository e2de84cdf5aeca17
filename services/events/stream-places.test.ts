import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StreamReader } from '#test/network/event-stream.ts';
import { startTcpProxy, type TcpProxy } from '#test/network/tcp-proxy.ts';
import { MAX_STREAMS_PER_GUILD } from './domain/stream-places.ts';
import { EventsFixture, newGuild, recordedFrom } from './fixture.ts';

const fixture = new EventsFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const places = async (guildId: string) =>
  (await fixture.database.query('SELECT id FROM events.streams WHERE guild_id = $1', [guildId])).length;

const ended = (readers: StreamReader[]) => readers.map(({ hasEnded }) => hasEnded);

test('a stream above the limit of its guild ends the oldest one, in whichever process it is', async () => {
  const guildId = newGuild();
  const other = await fixture.startEvents();
  const readers: StreamReader[] = [];
  for (let count = 0; count < MAX_STREAMS_PER_GUILD; count++) {
    readers.push(await fixture.stream(guildId, '', { at: count % 2 === 0 ? fixture.events : other }));
    await expect.poll(() => places(guildId)).toBe(readers.length);
  }
  expect(ended(readers)).not.toContain(true);
  // The first is in the first process, the second in the other one.
  readers.push(await fixture.stream(guildId, '', { at: other }));
  await expect.poll(() => ended(readers).indexOf(false)).toBe(1);
  readers.push(await fixture.stream(guildId, '', { at: fixture.events }));
  readers.push(await fixture.stream(guildId, '', { at: other }));
  await expect.poll(() => ended(readers).indexOf(false)).toBe(3);
  expect(ended(readers).filter(Boolean)).toHaveLength(3);
  // Clients with too many streams must not replace each other all the time.
  for (const reader of readers.slice(0, 3)) expect(reader.retry).toBeGreaterThanOrEqual(60_000);
  expect(await places(guildId)).toBe(MAX_STREAMS_PER_GUILD);
  const seqs = (reader: StreamReader) => reader.seqs;
  await fixture.append(guildId, recordedFrom(1, 2));
  await expect.poll(() => readers.slice(3).map(seqs)).toEqual(readers.slice(3).map(() => [1, 2]));
  await other.stop();
  expect(ended(readers).filter(Boolean).length).toBeGreaterThanOrEqual(3 + 9);
});

test('of many streams that open at the same time in several processes, 20 stay open', async () => {
  const guildId = newGuild();
  const other = await fixture.startEvents();
  const readers = await Promise.all(
    Array.from({ length: 60 }, (_, index) => fixture.stream(guildId, '', { at: index % 2 ? other : fixture.events })),
  );
  const open = () => ended(readers).filter((hasEnded) => !hasEnded).length;
  await expect.poll(open).toBe(MAX_STREAMS_PER_GUILD);
  expect(await places(guildId)).toBe(MAX_STREAMS_PER_GUILD);
  await other.stop();
});

test('the streams of a process that died do not count, and their rows are removed', { timeout: 60_000 }, async () => {
  const guildId = newGuild();
  for (let count = 0; count < MAX_STREAMS_PER_GUILD; count++) {
    await fixture.database.query(
      `INSERT INTO events.streams VALUES ($1, $2, clock_timestamp(), clock_timestamp() - interval '46 s')`,
      [guildId, randomUUID()],
    );
  }
  const reader = await fixture.stream(guildId);
  await expect.poll(() => places(guildId), { timeout: 30_000 }).toBe(1);
  expect(reader.hasEnded).toBe(false);
});

test('streams stay open while the database is unavailable, and have all events afterwards', {
  timeout: 120_000,
}, async () => {
  const guildId = newGuild();
  const url = new URL(fixture.testDatabase.url);
  const proxy: TcpProxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  url.hostname = '127.0.0.1';
  const replica = await fixture.startEvents({ DATABASE_URL: url.href });
  await fixture.append(guildId, recordedFrom(1, 1));
  const reader = await fixture.stream(guildId, '', { at: replica });
  await expect.poll(() => reader.seqs).toEqual([1]);
  await proxy.refuse();
  // Comments are sent without the database.
  await expect.poll(() => reader.frames.length, { timeout: 20_000 }).toBeGreaterThan(1);
  await fixture.append(guildId, recordedFrom(2, 3));
  await proxy.accept();
  await expect.poll(() => reader.seqs, { timeout: 30_000 }).toEqual([1, 2, 3, 4]);
  expect(reader.hasEnded).toBe(false);
  await replica.stop();
  await expect.poll(() => reader.retry).toBeGreaterThan(0);
  await proxy.close();
});

import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { withinBound } from '#test/measure/bounds.ts';
import { type Browser, ConsoleFixture, GUILD } from '../fixture.ts';

let system: ConsoleFixture;
let owner: Browser;

beforeAll(async () => {
  system = await ConsoleFixture.start();
  owner = await system.signIn();
});
afterAll(() => system.stop());

let nextGameId = 1_000;

/** Bans somebody, which records an event. */
async function ban(): Promise<number> {
  const gameId = nextGameId++;
  const { status } = await owner.api(`/moderation/${GUILD}/game/ban`, {
    method: 'POST',
    body: { game_id: gameId, reason: 'x' },
  });
  expect(status).toBe(201);
  return gameId;
}

const bansIn = (reader: Awaited<ReturnType<Browser['events']>>) =>
  reader.events.filter(({ event }) => event === 'ban.created').map(({ data }) => JSON.parse(data ?? '').data.game_id);

test('an event reaches all viewers of a guild within a second, over one connection to the events service', async () => {
  const viewers = await Promise.all([owner.events(), owner.events(), (await system.signIn()).events()]);
  expect(viewers.map(({ status }) => status)).toEqual([200, 200, 200]);
  await expect.poll(() => viewers[0]?.events.length).toBeGreaterThan(0);
  const started = performance.now();
  const gameId = await ban();
  await vi.waitUntil(() => viewers.every((reader) => bansIn(reader).includes(gameId)), {
    timeout: 20_000,
    interval: 5,
  });
  withinBound('an event reaches the browsers', performance.now() - started, 1_000);
  expect(await system.metric('console_shared_event_streams')).toBe(1);
  expect(await system.metric('console_event_streams')).toBe(3);
  for (const viewer of viewers) viewer.close();
  await expect.poll(() => system.metric('console_shared_event_streams')).toBe(0);
});

test('a viewer that connects again gets exactly the events after its last one', async () => {
  const [reader, other] = [await owner.events(), await owner.events()];
  const first = await ban();
  await expect.poll(() => bansIn(reader)).toContain(first);
  const last = reader.seqs.at(-1) ?? 0;
  reader.close();
  const missed = await ban();
  await expect.poll(() => bansIn(other)).toContain(missed);
  const again = await owner.events(GUILD, last);
  await expect.poll(() => bansIn(again)).toContain(missed);
  expect(again.seqs.every((seq) => seq > last)).toBe(true);
  again.close();
  other.close();
});

test('the stream of a person ends within a second or two after the session has ended', async () => {
  const person = await system.signIn();
  const reader = await person.events();
  await person.send('/console/sign-out', { method: 'POST' });
  await vi.waitUntil(() => reader.hasEnded, { timeout: 25_000 });
  expect(reader.retry).toBeUndefined();
  expect((await person.events()).status).toBe(401);
});

test('a person has at most 5 streams, and others are not affected', async () => {
  const person = await system.signIn('viewer');
  const readers = await Promise.all(Array.from({ length: 5 }, () => person.events()));
  expect(readers.map(({ status }) => status)).toEqual(Array(5).fill(200));
  expect((await person.events()).status).toBe(503);
  const other = await owner.events();
  expect(other.status).toBe(200);
  for (const reader of [...readers, other]) reader.close();
});

test('viewers keep their streams while the events service restarts, and miss nothing', {
  timeout: 120_000,
}, async () => {
  const reader = await owner.events();
  const before = await ban();
  await expect.poll(() => bansIn(reader)).toContain(before);
  const { network } = system;
  const ports = network.samePorts('events');
  await network.services.get('events')?.stop();
  const during = await ban();
  await network.startOne('events', ports);
  await vi.waitUntil(() => bansIn(reader).includes(during), { timeout: 60_000 });
  expect(reader.hasEnded).toBe(false);
  expect(new Set(reader.seqs).size).toBe(reader.seqs.length);
  reader.close();
});

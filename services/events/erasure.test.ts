import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { connect } from '#test/network/grpc.ts';
import { TEST_ADMIN_SECRETS } from '#test/system/signed-calls.ts';
import { EventsFixture, newGuild, recorded, recordedFrom } from './fixture.ts';

const CHAT = '920000000000000001';
const GAME = 7001;

const fixture = new EventsFixture();
let erasure: GrpcClient<typeof ErasureServiceService>;
let close: () => void;

beforeAll(async () => {
  await fixture.start();
  const address = fixture.events.addresses.grpc ?? '';
  const connected = connect(ErasureServiceService, 'events', address, systemClock, TEST_ADMIN_SECRETS.slice(0, 1));
  erasure = connected.client;
  close = connected.close;
});
afterAll(async () => {
  close();
  await fixture.stop();
});

const person = { chatId: CHAT, gameId: GAME };
const eraseUser = (guildId: string, dryRun = false) => erasure.eraseUser({ guildId, dryRun, ...person });
const about = (number: number, ...persons: string[]) =>
  recorded(number, { persons, data: JSON.stringify({ secret: 'words' }) });
const datas = async (guildId: string) => (await fixture.read(guildId)).map(({ data }) => data);
const ERASED = { erased: true };
const REPORT = { chat_id: CHAT, game_id: GAME };

test('erasing a person empties the events that name the person, keeps every seq, and reports it', async () => {
  const guildId = newGuild();
  const other = { secret: 'words' };
  await fixture.append(guildId, [
    about(1, `chat:${CHAT}`),
    about(2, 'chat:920000000000000002'),
    about(3, `game:${GAME}`, 'chat:920000000000000002'),
  ]);
  expect(await eraseUser(guildId, true)).toEqual({ tables: [{ table: 'events.log', rows: 2 }], isDone: true });
  expect(await datas(guildId)).toEqual([other, other, other]);
  expect(await eraseUser(guildId)).toEqual({ tables: [{ table: 'events.log', rows: 2 }], isDone: true });
  const events = await fixture.read(guildId);
  expect(events.map(({ seq, type, data }) => ({ seq, type, data }))).toEqual([
    { seq: 1, type: 'ban.created', data: ERASED },
    { seq: 2, type: 'ban.created', data: other },
    { seq: 3, type: 'ban.created', data: ERASED },
    { seq: 4, type: 'person.erased', data: REPORT },
  ]);
  expect(events[3]?.source).toMatchObject({ kind: 'operator' });
});

test('a repeated call reports nothing again, unless the person has new events', async () => {
  const guildId = newGuild();
  await fixture.append(guildId, [about(1, `game:${GAME}`)]);
  await eraseUser(guildId);
  expect(await eraseUser(guildId)).toEqual({ tables: [], isDone: true });
  expect(await datas(guildId)).toEqual([ERASED, REPORT]);
  await fixture.append(guildId, [about(2, `chat:${CHAT}`)]);
  await eraseUser(guildId);
  expect(await datas(guildId)).toEqual([ERASED, REPORT, ERASED, REPORT]);
});

test('a person without events is reported once', async () => {
  const guildId = newGuild();
  await eraseUser(guildId);
  await eraseUser(guildId);
  expect(await datas(guildId)).toEqual([REPORT]);
});

test('a person with more events than one statement erases is erased completely', async () => {
  const guildId = newGuild();
  for (let first = 1; first <= 1_401; first += 100) {
    await fixture.append(guildId, recordedFrom(first, 100, { persons: [`game:${GAME}`] }));
  }
  for (let isDone = false; !isDone; ) ({ isDone } = await eraseUser(guildId));
  const rows = await fixture.database.query(
    `SELECT data::text AS data, count(*) AS count FROM events.log WHERE guild_id = $1 GROUP BY 1 ORDER BY 2 DESC`,
    [guildId],
  );
  expect(rows).toEqual([
    { data: '{"erased": true}', count: 1_500 },
    { data: JSON.stringify(REPORT), count: 1 },
  ]);
});

test('rows of other guilds in other partitions are never touched', async () => {
  const [guildId, neighbour] = [newGuild(), newGuild()];
  const { database } = fixture;
  await fixture.append(guildId, [about(1, `game:${GAME}`)]);
  await fixture.append(neighbour, [about(1)]);
  // In a partition of its own, the neighbour's row has the place that the erased row has in another partition.
  await database.query(`SELECT events.create_partition('log', '2026-01-01')`);
  await database.query(
    `INSERT INTO events.log SELECT guild_id, '2026-01-01', seq + n, id, type, created_at, source, persons, data, size
     FROM events.log, generate_series(1, 8000) AS n WHERE guild_id = $1 AND seq = 1`,
    [neighbour],
  );
  await erasure.eraseGuild({ guildId, dryRun: false });
  const rows = await database.query('SELECT count(*) AS count FROM events.log WHERE guild_id = $1', [neighbour]);
  expect(rows).toEqual([{ count: 8_001 }]);
});

test('erasing a guild deletes its events, and its seqs and numbers continue', async () => {
  const guildId = newGuild();
  const events = recordedFrom(1, 3);
  await fixture.append(guildId, events);
  expect(await erasure.eraseGuild({ guildId, dryRun: false })).toEqual({
    tables: [
      { table: 'events.log', rows: 3 },
      { table: 'events.days', rows: 1 },
    ],
    isDone: true,
  });
  expect((await fixture.list(guildId)).body.data).toEqual({ events: [], next_after: 3, oldest_seq: 4 });
  expect((await fixture.list(guildId, '?after=1')).status).toBe(410);
  expect(await fixture.append(guildId, events)).toBe(0);
  expect(await fixture.append(guildId, recordedFrom(4, 1))).toBe(1);
  expect((await fixture.read(guildId)).map(({ seq }) => seq)).toEqual([4]);
});

test('the export of a person has the events that name the person', async () => {
  const guildId = newGuild();
  await fixture.append(guildId, [about(1, 'game:7099'), about(2, 'game:7098')]);
  const { rows } = await erasure.exportUser({ guildId, gameId: 7099, cursor: '' });
  expect(rows).toMatchObject([{ table: 'events.log' }]);
  expect(rows[0]?.row).toContain('ban.created');
  expect((await erasure.listGuildsOfUser({ gameId: 7099 })).guildIds).toEqual([guildId]);
});

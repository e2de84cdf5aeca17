import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { Retention } from '#kit/postgres/retention.ts';
import { QueueStore } from '#kit/queue/store.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { countGenericPlanRuns, scansOf } from '#test/postgres/explain.ts';
import { testEnvironment } from '#test/system/signed-calls.ts';
import { readModerationConfig } from '../config.ts';
import { retentionRules } from '../service.ts';
import * as decisions from './decisions.ts';
import { claimExpiredEntries, claimExpiredPunishments } from './expiries.ts';
import { OUTBOX } from './outbox.ts';
import * as reads from './reads.ts';
import * as shield from './shield.ts';
import { findStandings } from './standings.ts';

const GUILD = '900000000000000001';
const now = new Date();

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  // Not through the pool, which has a statement timeout of five seconds.
  const seed = (text: string, values: unknown[] = []) => databaseRows(testDatabase.url, text, values);
  // 100,000 rows in each table, nearly all of one guild: half of the punishments have ended, a tenth of the outbox is
  // open.
  await seed(
    `INSERT INTO moderation.punishments
       (guild_id, kind, game_id, place_id, reason, created_at, expires_at, ended_at, updated_at)
     SELECT CASE WHEN n % 100 > 1 THEN $1 ELSE (900000000000000001 + n % 7)::text END,
       CASE WHEN n % 3 = 0 THEN 'mute' ELSE 'ban' END, n / 2, n % 5, 'Cheats', at,
       CASE WHEN n % 4 = 0 THEN 'infinity' ELSE at + interval '1 day' END,
       CASE WHEN n % 2 = 0 THEN at + interval '1 hour' END, at
     FROM generate_series(1, 100000) n, LATERAL (SELECT now() - n * interval '5 seconds' AS at) times`,
    [GUILD],
  );
  await seed(
    `INSERT INTO moderation.log (guild_id, action, punishment_id, game_id, place_id, moderator_game_id, created_at)
     SELECT guild_id, kind, id, game_id, place_id, id % 50, created_at FROM moderation.punishments`,
  );
  await seed(
    `INSERT INTO moderation.outbox (guild_id, log_id, due_at, delivered_at)
     SELECT guild_id, id, created_at, CASE WHEN id % 10 > 0 THEN now() END FROM moderation.log`,
  );
  await seed(
    `INSERT INTO moderation.shield
       (guild_id, game_id, reason, category, source, actor, flagged_at, expires_at)
     SELECT CASE WHEN n % 2 = 0 THEN '0' ELSE $1 END, n, 'x', 'scam', 'op', 'ada', now(), 'infinity'
     FROM generate_series(1, 100000) n`,
    [GUILD],
  );
  for (const table of ['punishments', 'log', 'outbox', 'shield']) await seed(`ANALYZE moderation.${table}`);
});

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const batch = Array.from({ length: 25 }, (_, index) => 1_000 + index);
const nobody = { moderatorGameId: null, moderatorChatId: null, sourceServerId: null };
const ban = {
  kind: 'ban' as const,
  gameId: 500,
  gameUsername: null,
  reason: 'Cheats',
  placeId: null,
  durationSeconds: null,
  ...nobody,
};
const flag = {
  guildId: GUILD,
  gameId: 5,
  gameUsername: null,
  reason: 'R',
  category: 'c',
  source: 's',
  actor: 'a',
  flaggedAt: now,
  expiresAt: null,
};
const item = { guildId: GUILD, id: '5', attempts: 1, lease: now.toISOString(), data: {} };
const limits = { maxAttempts: 5, maxOutageSeconds: 60 };
const failure = { ...limits, error: 'E', isPermanent: false, counts: true, delayMs: 1 };
const active = { after: { expiresAt: now, id: 0 }, limit: 101 };
const changed = { after: { updatedAt: new Date(now.getTime() - 60_000), id: 0 }, limit: 101 };
const log = (filters: reads.LogFilters) => (on: Queryable) =>
  reads.listLog(on, GUILD, filters, { after: { createdAt: now, id: 5 }, limit: 101 });

test.each<[string, (on: Queryable) => Promise<unknown>, string[]]>([
  [
    'a status',
    (on) => findStandings(on, [{ guildId: GUILD, gameIds: [500], placeId: null }], now),
    ['punishments_current', 'shield_pkey'],
  ],
  [
    '25 statuses in a place',
    (on) => findStandings(on, [{ guildId: GUILD, gameIds: batch, placeId: 3 }], now),
    ['punishments_current', 'shield_pkey'],
  ],
  // EXPLAIN returns a plan instead of the time, so that the function throws.
  ['lockUser', (on) => decisions.lockUser(on, GUILD, 500).catch(() => undefined), []],
  ['endExpired', (on) => decisions.endExpired(on, GUILD, ban, now), ['punishments_current']],
  ['insertPunishment', (on) => decisions.insertPunishment(on, GUILD, ban, now), ['punishments_pkey', 'log_pkey']],
  [
    'liftPunishments',
    (on) => decisions.liftPunishments(on, GUILD, ban, now),
    ['punishments_current', 'punishments_pkey', 'log_pkey'],
  ],
  [
    'liftPunishments of all scopes',
    (on) => decisions.liftPunishments(on, GUILD, { ...ban, placeId: undefined }, now),
    ['punishments_current', 'punishments_pkey', 'log_pkey'],
  ],
  [
    'listActive',
    (on) => reads.listActive(on, GUILD, { kind: 'ban', placeId: undefined }, active),
    ['punishments_active'],
  ],
  [
    'listActive of a place',
    (on) => reads.listActive(on, GUILD, { kind: 'ban', placeId: 3 }, active),
    ['punishments_active_place', 'punishments_active_place'],
  ],
  [
    'listChanged',
    (on) => reads.listChanged(on, GUILD, { kind: 'ban', placeId: undefined }, changed),
    ['punishments_updated'],
  ],
  ['listPlayerPunishments', (on) => reads.listPlayerPunishments(on, GUILD, 500, 100), ['punishments_current']],
  ['findPrimaryPunishments', (on) => reads.findPrimaryPunishments(on, GUILD, 500), ['punishments_current']],
  ['listLog', log({}), ['log_created']],
  ['listLog of a time range', log({ from: new Date(now.getTime() - 3600_000), before: now }), ['log_created']],
  ['listLog of a player', log({ gameId: 500 }), ['log_game']],
  ['listLog of a moderator', log({ moderatorGameId: 7 }), ['log_moderator']],
  ['listLog of a rare action', log({ action: 'unban' }), ['log_action']],
  ['listLog of a player and an action', log({ gameId: 500, action: 'ban' }), ['log_game_action']],
  ['claimExpiredPunishments', (on) => claimExpiredPunishments(on, 200), ['punishments_expiring', 'punishments_pkey']],
  ['claimExpiredEntries', (on) => claimExpiredEntries(on, 200), ['shield_expiring', 'shield_pkey']],
  ['heads of the outbox', (on) => new QueueStore(on, OUTBOX).heads('', 100), ['outbox_queued', 'outbox_queued']],
  [
    'take of the outbox',
    (on) => new QueueStore(on, OUTBOX).take(GUILD, undefined, 1),
    // The last two decide for a failed decision whether a later one was delivered before.
    ['outbox_queued', 'outbox_queued', 'log_pkey', 'log_game_action', 'outbox_open'],
  ],
  ['finish of the outbox', (on) => new QueueStore(on, OUTBOX).finish(item), ['outbox_queued']],
  ['fail of the outbox', (on) => new QueueStore(on, OUTBOX).fail(item, failure), ['outbox_queued']],
  ['lockEntry', (on) => shield.lockEntry(on, GUILD, 5), ['shield_pkey']],
  ['putEntry', (on) => shield.putEntry(on, flag, 100_000), ['shield_pkey']],
  ['deleteEntry', (on) => shield.deleteEntry(on, GUILD, 5), ['shield_pkey']],
  ['listEntries', (on) => shield.listEntries(on, GUILD, 100, 5), ['shield_pkey']],
  ['listUnexpired', (on) => shield.listUnexpired(on, GUILD, { afterGameId: 5, now, limit: 100 }), ['shield_pkey']],
])('on 100,000 rows %s uses only index scans', async (_name, statement, indexes) => {
  expect((await scansOf(database, statement)).toSorted()).toEqual(indexes.toSorted());
});

test('the statistics of the outbox use only index scans', async () => {
  const scans = await scansOf(database, (on) => new QueueStore(on, OUTBOX).stats());
  expect(scans).toHaveLength(3);
  expect(scans.filter((scan) => !scan.startsWith('outbox_'))).toEqual([]);
});

test('PostgreSQL keeps the generic plan of a status, for one player of the largest guild and for 25', async () => {
  expect(
    await countGenericPlanRuns(database, (on) =>
      findStandings(on, [{ guildId: GUILD, gameIds: [500], placeId: null }], now),
    ),
  ).toBe(5);
  expect(
    await countGenericPlanRuns(database, (on) =>
      findStandings(on, [{ guildId: GUILD, gameIds: batch, placeId: 3 }], now),
    ),
  ).toBe(10);
});

test('standings of several requests are read together, and each request gets only its own', async () => {
  const requests = [
    { guildId: GUILD, gameIds: batch, placeId: null },
    { guildId: GUILD, gameIds: batch, placeId: 3 },
    { guildId: '900000000000000003', gameIds: batch, placeId: null },
    { guildId: GUILD, gameIds: [], placeId: null },
  ];
  const find = async (some: typeof requests) => (await findStandings(database, some, now)) as object[][];
  const together = await find(requests);
  const alone = [];
  for (const request of requests) alone.push(...(await find([request])));
  const inOrder = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort();
  expect(together.map(inOrder)).toEqual(alone.map(inOrder));
  const [everywhere, inPlace, other, none] = together.map(({ length }) => length);
  expect(everywhere).toBeGreaterThan(0);
  expect(inPlace).toBeGreaterThan(everywhere as number);
  expect(other).toBeGreaterThan(0);
  expect(none).toBe(0);
});

test('delivered outbox rows are deleted after a day; decisions and undelivered rows stay', async () => {
  const clock = new ManualClock(Date.now());
  const environment = { ACTIVITY_GRPC_ADDRESS: 'localhost:1' };
  const config = readModerationConfig({ ...testEnvironment(testDatabase.url), ...environment });
  const silent = await createLog({ service: 'test', level: 'silent' });
  await database.query(
    `INSERT INTO moderation.idempotency (guild_id, method, path, key, body_hash, created_at)
     VALUES ($1, 'POST', '/', 'key', '', $2)`,
    [GUILD, now],
  );
  const retention = new Retention({ database, rules: retentionRules(config), clock, log: silent });
  const count = async (table: string) => {
    const [row] = await database.query<{ rows: number }>(`SELECT count(*)::int AS rows FROM moderation.${table}`);
    return row?.rows;
  };
  const counts = () => Promise.all(['punishments', 'log', 'shield', 'outbox', 'idempotency'].map(count));
  clock.advance(23 * 3600_000);
  await retention.sweep();
  expect(await counts()).toEqual([100_000, 100_000, 100_000, 100_000, 1]);
  clock.advance(2 * 3600_000);
  await retention.sweep();
  expect(await counts()).toEqual([100_000, 100_000, 100_000, 10_000, 0]);
});

test('an outbox row is deleted with its log row', async () => {
  await database.query('DELETE FROM moderation.log WHERE guild_id = $1 AND id % 10 = 0 AND id <= 100', [GUILD]);
  const left = await database.query('SELECT 1 FROM moderation.outbox WHERE guild_id = $1 AND log_id <= 100', [GUILD]);
  expect(left).toEqual([]);
});

// Guarantee: each statement of the mirrors of bans and mutes finds its rows by an index, among a million, and none reads more
// rows than a page although nearly all bans are mirrored.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { QueueStore } from '#kit/queue/store.ts';
import { amount } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { costOf, scansOf } from '#test/postgres/explain.ts';
import { type MirrorTasks, RESTRICTION_TASKS, TIMEOUT_TASKS } from './mirror-tasks.ts';
import * as universes from './mirrored-universes.ts';
import { listPlayerBans } from './reads.ts';
import * as drift from './restriction-drift.ts';
import * as restrictions from './restrictions.ts';
import * as guilds from './timeout-guilds.ts';
import * as timeouts from './timeouts.ts';

const ROWS = amount(100_000, 1_000_000);
const GUILDS = ROWS / 10;
const PLACES = 20;
/** The guild with nearly all bans, all of which are mirrored to its universe. */
const GUILD = '900000000000000001';
const UNIVERSE = 1;
const BATCH = 500;
/** For a page of 500 rows, each with a few lookups of about four pages. A statement that looks up all rows reads far more. */
const MAX_PAGES = 20_000;

let testDatabase: TestDatabase;
let database: Database;

const SEEDS: Record<string, string> = {
  mirrored_universes: `(guild_id, universe_id, exclude_alts, run_at)
    SELECT (900000000000000000 + n)::text, n, false, now() + n * interval '1 second' FROM generate_series(1, ${GUILDS}) n`,
  // Every second row is permanent, and every tenth is a mute instead of a ban.
  punishments: `(guild_id, id, kind, game_id, place_id, reason, created_at, expires_at, updated_at)
    SELECT '${GUILD}', n, CASE WHEN n % 10 = 0 THEN 'mute' ELSE 'ban' END, n, 0, 'Cheats', now(),
      CASE WHEN n % 2 = 0 THEN 'infinity' ELSE now() + n * interval '1 minute' END, now() FROM generate_series(1, ${ROWS}) n`,
  restrictions: `(guild_id, game_id, universe_id, place_id, punishment_id, started_at, ends_at, drifted_at)
    SELECT '${GUILD}', n, ${UNIVERSE}, CASE WHEN n % 100 = 0 THEN n / 100 % ${PLACES} ELSE 0 END, n, now(), 'infinity',
      CASE WHEN n % 1000 = 0 THEN now() END FROM generate_series(1, ${ROWS}) n`,
  restriction_tasks: `(guild_id, game_id) SELECT (900000000000000000 + n % 100)::text, n FROM generate_series(1, ${ROWS}) n`,
  timeouts: `(guild_id, game_id, chat_id, ends_at, renew_at)
    SELECT (900000000000000000 + n % 100)::text, n, n::text, now(), CASE WHEN n % 100 = 0 THEN now() + n * interval '1 second' END
    FROM generate_series(1, ${ROWS}) n`,
  timeout_tasks: `(guild_id, game_id) SELECT (900000000000000000 + n % 100)::text, n FROM generate_series(1, ${ROWS}) n`,
  timeout_guilds: `(guild_id, compared_at)
    SELECT (900000000000000000 + n)::text, CASE WHEN n % 1000 > 0 THEN now() END FROM generate_series(1, ${GUILDS}) n`,
};

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  for (const [table, seed] of Object.entries(SEEDS)) {
    await databaseRows(testDatabase.url, `INSERT INTO moderation.${table} ${seed}`);
    await databaseRows(testDatabase.url, `VACUUM ANALYZE moderation.${table}`);
  }
}, 600_000);
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

type Run = (on: Queryable) => Promise<unknown>;

/** True for a scan without an index. */
const isTable = (scan: string) => scan.includes(' of ');
const retention = (table: string, column: string): Run => {
  const text = `SELECT ctid FROM moderation.${table} WHERE ${column} < $1 LIMIT 1000 FOR UPDATE SKIP LOCKED`;
  return (on) => on.query(text, [new Date(0)]);
};

const now = new Date();
const scope = { guildId: GUILD, universeId: UNIVERSE };
const at = { universeId: UNIVERSE, placeId: null };
const check = {
  ...scope,
  lease: randomUUID(),
  excludeAlts: false,
  logReadTo: null,
  isReconciling: false,
  isNew: false,
};
const task = { guildId: GUILD, gameId: 500, lease: randomUUID(), revision: 1 };
const player = { guildId: GUILD, gameId: 500, chatId: '500' };
const batch = Array.from({ length: 100 }, (_, index) => 1_000 + index);
const seen = batch.map((gameId) => ({ gameId, placeId: null, isActive: true, startedAt: now, durationSeconds: null }));
const differences = batch.map((gameId) => ({ gameId, placeId: null, isUnexpected: true }));
const ban = { id: 500, expiresAt: now.toISOString() };
const compared = { guildId: GUILD, mutesAfter: 0, changesAfter: 0 };
const write = { id: randomUUID(), banId: 1, durationSeconds: null, since: now };
const agreement = { banId: 1, restriction: undefined, writtenId: null, origin: 'guild' } as const;

const queue = (on: Queryable, tasks: MirrorTasks) => new QueueStore(on, tasks.table);

const due: [string, Run, string[]][] = [
  ['universes', (on) => universes.claimUniverse(on, 1, true), ['mirrored_universes_due']],
  ['tasks of restrictions', (on) => queue(on, RESTRICTION_TASKS).due('', 100, 2), ['restriction_tasks_due']],
  ['tasks of timeouts', (on) => queue(on, TIMEOUT_TASKS).due('', 100, 2), ['timeout_tasks_due']],
  ['timeouts to extend', (on) => timeouts.findRenewals(on, BATCH), ['timeouts_renewed']],
  ['guilds to compare', (on) => guilds.lockComparedGuild(on), ['timeout_guilds_comparing']],
  ['new guilds', (on) => guilds.noteNewGuilds(on), ['timeout_guilds_comparing']],
  ['restrictions that have ended', retention('restrictions', 'ends_at'), ['restrictions_ended']],
  ['timeouts that have ended', retention('timeouts', 'ends_at'), ['timeouts_ended']],
];

test.each(due)('due %s are found by their index', async (_name, statement, indexes) => {
  const scans = await scansOf(database, statement);
  expect(scans).toEqual(expect.arrayContaining(indexes));
  expect(scans.filter(isTable)).toEqual([]);
});

const statements: [string, Run][] = [
  ['findUniverses', (on) => universes.findUniverses(on, GUILD)],
  ['listMirroringGuilds', (on) => universes.listMirroringGuilds(on, GUILD, '900000000000000100')],
  ['renewUniverse', (on) => universes.renewUniverse(on, check, 1)],
  ['endCheck', (on) => universes.endCheck(on, check, { nextMs: 1, logReadTo: null, error: null })],
  ['endReconciliation', (on) => universes.endReconciliation(on, check, { compared: 1, drifted: 0, startedAt: now })],
  ['postponeReconciliation', (on) => universes.postponeReconciliation(on, check, { error: '', startedAt: now })],
  ['needReconciliation', (on) => universes.needReconciliation(on, check)],
  ['requestReconciliation', (on) => universes.requestReconciliation(on, GUILD)],
  ['listReconciliations', (on) => drift.listReconciliations(on, GUILD)],
  ['storeUniverses', (on) => universes.storeUniverses(on, { guildId: GUILD, universeIds: [], excludeAlts: true })],
  ['findRestrictions', (on) => restrictions.findRestrictions(on, GUILD, 500)],
  ['findBans', (on) => restrictions.findBans(on, GUILD, [1, 2])],
  ['listPlayerBans', (on) => listPlayerBans(on, GUILD, 500, 10)],
  ['storeRead', (on) => restrictions.storeRead(on, task, at, false)],
  ['requireLease', (on) => RESTRICTION_TASKS.requireLease(on, task).catch(() => 0)],
  ['end of a task', (on) => RESTRICTION_TASKS.end(on, task)],
  ['take of a task', (on) => queue(on, RESTRICTION_TASKS).take(GUILD, '500', 1)],
  ['readMute', (on) => timeouts.readMute(on, GUILD, 500).catch(() => 0)],
  ['readAgreement', (on) => timeouts.readAgreement(on, player)],
  ['endRenewals', (on) => timeouts.endRenewals(on, GUILD, batch)],
  ['findTimeoutGuilds', (on) => guilds.findTimeoutGuilds(on, [GUILD])],
  ['moveComparedGuild', (on) => guilds.moveComparedGuild(on, compared, { ...compared, mutesAfter: 5 }, true)],
  ['findChanged', (on) => drift.findChanged(on, scope, seen)],
  ['findStates', (on) => drift.findStates(on, scope, differences)],
  ['listDifferences', (on) => drift.listDifferences(on, GUILD, 0, BATCH)],
  [
    'storeTimeoutGuilds',
    (on) => guilds.storeTimeoutGuilds(on, { after: GUILD, end: '900000000000000100', guildIds: [] }),
  ],
];

test.each(statements)('%s finds its rows by an index', async (_name, statement) => {
  const scans = await scansOf(database, statement);
  expect(scans.length).toBeGreaterThan(0);
  expect(scans.filter(isTable)).toEqual([]);
});

const inserts: [string, Run][] = [
  ['markForReading', (on) => drift.markForReading(on, scope, differences, {})],
  ['beginWrite', (on) => restrictions.beginWrite(on, task, at, write)],
  ['storeAgreement', (on) => restrictions.storeAgreement(on, task, at, agreement, false)],
  ['storeForeignPlace', (on) => restrictions.storeForeignPlace(on, task, at, 1)],
  ['a batch of tasks', (on) => RESTRICTION_TASKS.queue(on, GUILD, batch)],
  ['storeAgreement of a timeout', (on) => timeouts.storeAgreement(on, player, { mute: 0, timeout: 0 })],
];

test.each(inserts)('%s reads no table as a whole', async (_name, statement) => {
  expect((await scansOf(database, statement)).filter(isTable)).toEqual([]);
});

const walks: [string, Run][] = [
  ['walkBans', (on) => drift.walkBans(on, scope, ban, BATCH)],
  ['walkBans from the first ban', (on) => drift.walkBans(on, scope, undefined, BATCH)],
  ['walkMirrors', (on) => drift.walkMirrors(on, scope, { gameId: 500, placeId: null }, BATCH)],
  ['listPlaces', (on) => drift.listPlaces(on, scope, 100)],
  ['listMutedPlayers', (on) => guilds.listMutedPlayers(on, GUILD, 500, BATCH)],
  ['listDifferences', (on) => drift.listDifferences(on, GUILD, 0, BATCH)],
];

test.each(walks)('%s reads one page, although nearly all bans are mirrored', async (name, statement) => {
  const { pages } = await costOf(database, statement);
  printFigure(`pages of 8 KiB that ${name} reads`, String(pages));
  expect(pages).toBeLessThan(MAX_PAGES);
});

test('the places of a universe are those with a player who is or was restricted there', async () => {
  const places = await drift.listPlaces(database, scope, 100);
  expect(places).toEqual(Array.from({ length: PLACES - 1 }, (_, index) => index + 1));
  expect(await drift.listPlaces(database, scope, 5)).toEqual([1, 2, 3, 4, 5]);
  await database.query(
    `UPDATE moderation.restrictions SET foreign_until = now() WHERE guild_id = $1 AND universe_id = $2 AND place_id = 3`,
    [GUILD, UNIVERSE],
  );
  expect(await drift.listPlaces(database, scope, 4)).toEqual([1, 2, 4, 5]);
});

test('the walk through the bans finds those that are not mirrored, in full pages', async () => {
  const first = await drift.walkBans(database, scope, undefined, BATCH);
  expect(first).toHaveLength(BATCH);
  const [one, other] = first as [drift.WalkedBan, drift.WalkedBan];
  await database.query('UPDATE moderation.restrictions SET punishment_id = NULL WHERE guild_id = $1 AND game_id = $2', [
    GUILD,
    one.gameId,
  ]);
  const again = await drift.walkBans(database, scope, undefined, BATCH);
  expect(again).toHaveLength(BATCH);
  expect(again.filter(({ isMirrored }) => !isMirrored).map(({ id }) => id)).toEqual([one.id]);
  expect((await drift.walkBans(database, scope, one, 1))[0]?.id).toBe(other.id);
});

test('a universe is removed with all its rows, with no statement that takes longer than statements may', async () => {
  await universes.storeUniverses(database, { guildId: GUILD, universeIds: [], excludeAlts: false });
  const [left] = await database.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM moderation.restrictions WHERE guild_id = $1',
    [GUILD],
  );
  expect(left).toEqual({ count: 0 });
}, 180_000);

// Guarantee: each statement about settings, joins, invites, role tasks, ranks and timeouts finds its rows by an index, among a
// million.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import type { QueueTable } from '#kit/queue/definition.ts';
import { QueueStore } from '#kit/queue/store.ts';
import { amount } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { costOf, scansOf } from '#test/postgres/explain.ts';
import * as settings from './guild-settings.ts';
import * as ranks from './known-ranks.ts';
import * as reports from './member-reports.ts';
import * as nicknames from './nickname-changes.ts';
import * as polls from './rank-polls.ts';
import * as invites from './role-invites.ts';
import * as tasks from './role-tasks.ts';
import * as roles from './roles.ts';
import * as timeouts from './timeout-changes.ts';

const ROWS = amount(100_000, 1_000_000);
/** The number of rows in tables with one row per guild. */
const GUILDS = ROWS / 10;

const guildId = '900000000000000050';
const member = { guildId, chatId: '920000000000000500' };
const { chatId } = member;
const chatIds = [chatId, '920000000000000501'];
/** The most pages that the statistics of a queue may read: they count up to 10,000 queued items and 10,000 dead letters. */
const MAX_STATISTICS_PAGES = 12_000;
const ROLE = '910000000000000001';
const LEASE = randomUUID();
const TOO_OLD = new Date(0);

let testDatabase: TestDatabase;
let database: Database;

/** Members of a hundred guilds, and one row per guild. */
const MEMBERS = `(900000000000000000 + n % 100)::text AS guild_id, (920000000000000000 + n)::text AS chat_id`;
const OF_MEMBERS = `FROM generate_series(1, ${ROWS}) n`;
const GUILD = '(900000000000000000 + n)::text';
const OF_GUILDS = `FROM generate_series(1, ${GUILDS}) n`;

const SEEDS: Record<string, string> = {
  guild_settings: `(guild_id, mirror_bans_universe_ids, mirror_timeouts)
    SELECT ${GUILD}, CASE WHEN n % 100 = 0 THEN ARRAY[n] ELSE '{}' END, n % 100 = 0 ${OF_GUILDS}`,
  // One in a hundred has expired.
  role_invites: `(guild_id, chat_id, channel_id, role_ids, created_at, expires_at, kept_until)
    SELECT ${MEMBERS}, '1', '{}', now(), now(), now() + CASE WHEN n % 100 = 0 THEN -1 ELSE 1 END * interval '1 hour'
    ${OF_MEMBERS}`,
  grants: `(guild_id, chat_id, role_id, created_at) SELECT ${MEMBERS}, '${ROLE}', now() ${OF_MEMBERS}`,
  // Every hundredth task is a dead letter.
  role_tasks: `(guild_id, chat_id, version, created_at, state)
    SELECT ${MEMBERS}, gen_random_uuid(), now(), CASE WHEN n % 100 = 0 THEN 'dead' ELSE 'queued' END ${OF_MEMBERS}`,
  known_ranks: `(guild_id, chat_id, game_id, ranks) SELECT ${MEMBERS}, n, '{"501": [1]}' ${OF_MEMBERS}`,
  rank_polls: `(guild_id, id, run_at) SELECT ${GUILD}, 'ranks', now() + n * interval '1 second' ${OF_GUILDS}`,
  nickname_changes: `(guild_id, chat_id, run_at) SELECT ${MEMBERS}, now() ${OF_MEMBERS}`,
  timeout_changes: `(guild_id, chat_id) SELECT ${MEMBERS} ${OF_MEMBERS}`,
  member_reports: `(guild_id, hour, count) SELECT ${GUILD}, now(), 1 ${OF_GUILDS}`,
  mirror_guilds: `(guild_id, shard_count, shard_id, session_epoch, epoch, roles, bot_roles, seen_at)
    SELECT ${GUILD}, 1, 0, gen_random_uuid(), gen_random_uuid(), '[]', '{}', now() ${OF_GUILDS}`,
};

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  for (const [table, seed] of Object.entries(SEEDS)) {
    await databaseRows(testDatabase.url, `INSERT INTO members.${table} ${seed}`);
    await databaseRows(testDatabase.url, `VACUUM ANALYZE members.${table}`);
  }
}, 600_000);
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

type Run = (on: Queryable) => Promise<unknown>;

/** The statements with which a worker finds and takes the items of a queue, with their indexes. */
function ofQueue(table: QueueTable, { name, due }: { name: string; due: string }): [string, Run, string[]][] {
  const store = (on: Queryable) => new QueueStore(on, table);
  const id = table.id === 'id' ? 'ranks' : chatId;
  const item = { guildId, id, attempts: 1, lease: LEASE, data: {} };
  return [
    [`due ${name}`, (on) => store(on).due('', 100, 2), [due, due, due]],
    [`take of ${name}`, (on) => store(on).take(guildId, id, 1_000), [`${name}_pkey`]],
    // A guild has one row in rank_polls, so PostgreSQL may use the index of due items instead of the primary key.
    [`renewal of ${name}`, (on) => store(on).renew(item, 1_000), [id === 'ranks' ? due : `${name}_pkey`]],
    [`end of ${name}`, (on) => store(on).delete(item), [id === 'ranks' ? due : `${name}_pkey`]],
  ];
}

const retention = (table: string, column: string): Run => {
  const text = `SELECT ctid FROM members.${table} WHERE ${column} < $1 LIMIT 1000 FOR UPDATE SKIP LOCKED`;
  return (on) => on.query(text, [TOO_OLD]);
};

const page = { guildId, lease: LEASE, position: '', roundMs: 1, pauseMs: 1 };
const terms = { channelId: '1', roleIds: [ROLE] };
const statements: [string, Run, string[]][] = [
  ['findSettings', (on) => settings.findSettings(on, guildId), ['guild_settings_pkey']],
  ['lockSettings', (on) => settings.lockSettings(on, guildId), ['guild_settings_pkey']],
  ['updateSettings', (on) => settings.updateSettings(on, guildId, settings.DEFAULT_SETTINGS), ['guild_settings_pkey']],
  ['listMirroringGuilds', (on) => settings.listMirroringGuilds(on, guildId, 500), ['guild_settings_mirroring']],
  ['listTimeoutGuilds', (on) => settings.listTimeoutGuilds(on, guildId, 500), ['guild_settings_timeouts']],
  ['findRecentInvite', (on) => invites.findRecentInvite(on, member, terms, 60), ['role_invites_pkey']],
  [
    'endInvite',
    (on) => invites.endInvite(on, member, { url: '', expiresAt: null }).catch(() => 0),
    ['role_invites_pkey'],
  ],
  ['findInvited', (on) => invites.findInvited(on, guildId, chatIds), ['role_invites_pkey']],
  ['retention of invites', retention('role_invites', 'kept_until'), ['role_invites_kept_until']],
  ['listGrants', (on) => roles.listGrants(on, member), ['grants_pkey']],
  ['listGrantsOf', (on) => roles.listGrantsOf(on, guildId, chatIds, [ROLE]), ['grants_pkey']],
  ['deleteGrants', (on) => roles.deleteGrants(on, member, [ROLE]), ['grants_pkey']],
  ['deleteGrantsOfAbsent', (on) => roles.deleteGrantsOfAbsent(on, member), ['grants_pkey', 'role_invites_pkey']],
  ...ofQueue(tasks.ROLE_TASKS, { name: 'role_tasks', due: 'role_tasks_run' }),
  ['retention of role tasks', retention('role_tasks', 'created_at'), ['role_tasks_created']],
  ['findKnownRanks', (on) => ranks.findKnownRanks(on, guildId, chatIds), ['known_ranks_pkey']],
  ['deleteKnownRanks', (on) => ranks.deleteKnownRanks(on, guildId, chatId), ['known_ranks_pkey']],
  ['retention of known ranks', retention('known_ranks', 'seen_at'), ['known_ranks_seen']],
  ['nextRankPoll', (on) => polls.nextRankPoll(on, page), ['rank_polls_pkey', 'rank_polls_pkey']],
  ...ofQueue(polls.RANK_POLLS, { name: 'rank_polls', due: 'rank_polls_due' }),
  ['findBegunNickname', (on) => nicknames.findBegunNickname(on, member), ['nickname_changes_pkey']],
  ['endNickname', (on) => nicknames.endNickname(on, member, { from: null, to: null }), ['nickname_changes_pkey']],
  ...ofQueue(nicknames.NICKNAME_CHANGES, { name: 'nickname_changes', due: 'nickname_changes_due' }).slice(0, 2),
  ['changes of timeouts', (on) => timeouts.listTimeoutChanges(on, 5_000, 500, ''), ['timeout_changes_id']],
  ['those of a guild', (on) => timeouts.listTimeoutChanges(on, 5_000, 500, guildId), ['timeout_changes_pkey']],
  ['newestTimeoutChange', (on) => timeouts.newestTimeoutChange(on), ['timeout_changes_id']],
  ['retention of timeouts', retention('timeout_changes', 'changed_at'), ['timeout_changes_changed']],
  ['countReports', (on) => reports.countReports(on, [{ guildId, reports: 1 }]), ['mirror_guilds_pkey']],
  ['retention of reports', retention('member_reports', 'hour'), ['member_reports_hour']],
];

test.each(statements)('%s finds its rows by an index', async (_name, statement, indexes) => {
  expect((await scansOf(database, statement)).toSorted()).toEqual(indexes.toSorted());
});

const inserts: [string, Run][] = [
  ['beginInvite', (on) => invites.beginInvite(on, member, { ...terms, granted: [ROLE], maxAgeSeconds: 1 })],
  ['insertGrants', (on) => roles.insertGrants(on, member, [ROLE])],
  ['acquireLock', (on) => roles.acquireLock(on, member, LEASE, 1)],
  ['insertTask', (on) => tasks.insertTask(on, { ...member, version: LEASE, source: null, cause: 'link' })],
  ['insertTasks', (on) => tasks.insertTasks(on, guildId, chatIds, 'join')],
  ['storeKnownRanks', (on) => ranks.storeKnownRanks(on, guildId, [{ chatId, gameId: 1, ranks: {} }])],
  ['startRankPoll', (on) => polls.startRankPoll(on, guildId)],
  ['beginNickname', (on) => nicknames.beginNickname(on, member, { from: null, to: null, source: null })],
];

test.each(inserts)('%s reads no other rows than those of its unique index', async (_name, statement) => {
  expect(await scansOf(database, statement)).toEqual([]);
});

const queues: [string, QueueTable][] = [
  ['role_tasks', tasks.ROLE_TASKS],
  ['rank_polls', polls.RANK_POLLS],
  ['nickname_changes', nicknames.NICKNAME_CHANGES],
];

test.each(queues)('the statistics of %s read no more than they count', async (name, table) => {
  const { pages } = await costOf(database, (on) => new QueueStore(on, table).stats());
  printFigure(`pages of 8 KiB that the statistics of ${name} read`, String(pages));
  expect(pages).toBeLessThan(MAX_STATISTICS_PAGES);
});

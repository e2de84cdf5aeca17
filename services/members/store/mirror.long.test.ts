// Each statement of the mirror finds its rows by an index, among 100,000 guilds and a million members.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database, Queryable, Transaction } from '#kit/postgres/pool.ts';
import { amount } from '#test/measure/bounds.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { scansOf } from '#test/postgres/explain.ts';
import * as shards from './chat-shards.ts';
import * as events from './mirror-events.ts';
import * as reads from './mirror-reads.ts';

const MEMBERS = amount(200_000, 1_000_000);
const guildId = '900000000000050000';
const name = { guildId, chatId: '920000000000000500' };
const shard = { shardCount: 1_000, shardId: 500 };
const HOLDER = '00000000-0000-4000-8000-000000000000';
const SESSION = { sessionId: 'session 500', sequence: 11, resumeUrl: 'ws://127.0.0.1' };
const ROLE = '910000000000000001';
const chatMember = {
  chatId: name.chatId,
  username: 'ada',
  nickname: null,
  roles: [ROLE],
  joinedAt: null,
  timeoutUntil: null,
};

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  await databaseRows(
    testDatabase.url,
    `INSERT INTO members.chat_shards (shard_count, shard_id, holder, session_id, sequence, resume_url, bot_id, epoch)
     SELECT 1000, n, '${HOLDER}', 'session ' || n, 10, 'ws://127.0.0.1', '930000000000000001', gen_random_uuid()
     FROM generate_series(0, 999) n`,
  );
  await databaseRows(
    testDatabase.url,
    `INSERT INTO members.mirror_guilds (guild_id, shard_count, shard_id, session_epoch, epoch, roles, bot_roles, seen_at)
     SELECT (900000000000000000 + n)::text, 1000, n % 1000, gen_random_uuid(), gen_random_uuid(), '[]', '{}',
       now() - n * interval '1 minute'
     FROM generate_series(1, 100000) n`,
  );
  // Every hundredth member has left.
  await databaseRows(
    testDatabase.url,
    `INSERT INTO members.mirror_members (guild_id, chat_id, username, roles, read_at, seen_at, left_at)
     SELECT (900000000000000000 + n % 20000)::text, (920000000000000000 + n / 20000)::text, 'ada', '{}', now(),
       now() - n * interval '1 minute', CASE WHEN n % 100 = 0 THEN now() - n * interval '1 second' END
     FROM generate_series(1, ${MEMBERS}) n`,
  );
  for (const table of ['chat_shards', 'mirror_guilds', 'mirror_members'])
    await databaseRows(testDatabase.url, `ANALYZE members.${table}`);
}, 600_000);

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const inTransaction = (on: Queryable): Transaction => ({
  query: (statement, values) => on.query(statement, values),
  afterCommit: () => undefined,
});
const guild = { guildId, ownerId: null, roles: [{ id: ROLE }] };
const read = { epoch: null, version: 1, ageMs: 5 };
const GUILD_AND_SHARD = ['mirror_guilds_pkey', 'chat_shards_pkey'];

const statements: [string, (on: Queryable) => Promise<unknown>, string[]][] = [
  ['findGuild', (on) => reads.findGuild(on, guildId, 60), GUILD_AND_SHARD],
  ['findGuildData', (on) => reads.findGuildData(on, guildId), ['mirror_guilds_pkey']],
  [
    'findMember',
    (on) => reads.findMember(on, name, { maxAgeSeconds: 60, usableSeconds: 60 }),
    [...GUILD_AND_SHARD, 'mirror_members_pkey'],
  ],
  ['markGuildUsed', (on) => reads.markGuildUsed(on, guildId), ['mirror_guilds_pkey']],
  ['markMemberUsed', (on) => reads.markMemberUsed(on, name), ['mirror_members_pkey']],
  ['storeRead', (on) => reads.storeRead(on, guildId, chatMember, read), []],
  ['deleteRead', (on) => reads.deleteRead(on, name, 1), ['mirror_members_pkey']],
  ['findVersion', (on) => reads.findVersion(on, name), ['mirror_members_pkey']],
  ['storeOwnChange', (on) => reads.storeOwnChange(on, name, 1, { nickname: 'Ada' }), ['mirror_members_pkey']],
  ['setUnavailable', (on) => events.setUnavailable(on, guildId), ['mirror_guilds_pkey']],
  ['deleteGuild', (on) => events.deleteGuild(on, guildId), ['mirror_guilds_pkey']],
  ['updateGuild', (on) => events.updateGuild(on, guild), ['mirror_guilds_pkey']],
  ['storeBotRoles', (on) => events.storeBotRoles(on, guildId, [ROLE]), ['mirror_guilds_pkey']],
  ['findBefore', (on) => events.findBefore(on, name), ['mirror_guilds_pkey', 'mirror_members_pkey']],
  ['storeMember', (on) => events.storeMember(on, guildId, chatMember, randomUUID()), []],
  ['storeLeft', (on) => events.storeLeft(on, name), []],
  ['lockShard', (on) => shards.lockShard(on, shard, HOLDER), ['chat_shards_pkey']],
  ['renewShard', (on) => shards.renewShard(on, shard, HOLDER, { leaseMs: 1, liveMs: 1 }), ['chat_shards_pkey']],
  ['releaseShard', (on) => shards.releaseShard(on, shard, HOLDER), ['chat_shards_pkey']],
  ['advanceShard', (on) => shards.advanceShard(inTransaction(on), shard, HOLDER, SESSION), ['chat_shards_pkey']],
  [
    'beginSession',
    (on) => shards.beginSession(inTransaction(on), shard, { ...SESSION, botId: '930000000000000001' }),
    ['chat_shards_pkey'],
  ],
  ['setRejected', (on) => shards.setRejected(on, shard, HOLDER, 'no'), ['chat_shards_pkey']],
  [
    'retention of members that left',
    (on) =>
      on.query(`SELECT ctid FROM members.mirror_members WHERE left_at < $1 LIMIT 1000 FOR UPDATE SKIP LOCKED`, [
        new Date(0),
      ]),
    ['mirror_members_left'],
  ],
  [
    'retention of members',
    (on) =>
      on.query(`SELECT ctid FROM members.mirror_members WHERE seen_at < $1 LIMIT 1000 FOR UPDATE SKIP LOCKED`, [
        new Date(0),
      ]),
    ['mirror_members_seen'],
  ],
  [
    'retention of guilds',
    (on) =>
      on.query(`SELECT ctid FROM members.mirror_guilds WHERE seen_at < $1 LIMIT 1000 FOR UPDATE SKIP LOCKED`, [
        new Date(0),
      ]),
    ['mirror_guilds_seen'],
  ],
];

test.each(statements)('%s finds its rows by an index', async (_name, statement, indexes) => {
  expect((await scansOf(database, statement)).toSorted()).toEqual(indexes.toSorted());
});

test('storeRole finds its guild by an index, and reads no other rows than the roles of the guild', async () => {
  const scans = await scansOf(database, (on) => events.storeRole(on, guildId, ROLE, { id: ROLE }));
  expect(scans).toEqual(['mirror_guilds_pkey']);
});

test('the position of a shard follows only its own session and owner, and never goes back', async () => {
  const advance = (holder: string, sessionId: string, sequence: number) =>
    database.transaction((transaction) => shards.advanceShard(transaction, shard, holder, { sessionId, sequence }));
  const position = async () =>
    (
      await databaseRows<{ sequence: string }>(
        testDatabase.url,
        'SELECT sequence FROM members.chat_shards WHERE shard_count = 1000 AND shard_id = 500',
      )
    )[0]?.sequence;
  expect(await advance(HOLDER, SESSION.sessionId, 12)).toBe(true);
  expect(await advance(randomUUID(), SESSION.sessionId, 13)).toBe(false);
  expect(await advance(HOLDER, 'an earlier session', 99)).toBe(false);
  expect(await advance(HOLDER, SESSION.sessionId, 11)).toBe(false);
  expect(await position()).toBe('12');
});

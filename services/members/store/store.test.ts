import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { Retention } from '#kit/postgres/retention.ts';
import { QueueStore } from '#kit/queue/store.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { scansOf } from '#test/postgres/explain.ts';
import { testEnvironment } from '#test/system/signed-calls.ts';
import { readMembersConfig } from '../config.ts';
import { retentionRules } from '../retention.ts';
import * as intents from './intents.ts';
import * as tokens from './tokens.ts';

const GUILD = '900000000000000001';
const CHAT = '920000000000000500';
const now = new Date();
const mac = Buffer.alloc(32);

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  // 100,000 tokens of one guild, and 100,000 intents of a hundred guilds, of which a tenth is unfinished.
  await databaseRows(
    testDatabase.url,
    `INSERT INTO members.verification_tokens (guild_id, token_mac, code_mac, chat_id, created_at, expires_at)
     SELECT $1, sha256(n::text::bytea), sha256((-n)::text::bytea), (920000000000000000 + n)::text, now(), now()
     FROM generate_series(1, 100000) n`,
    [GUILD],
  );
  await databaseRows(
    testDatabase.url,
    `INSERT INTO members.intents
       (guild_id, operation_id, kind, chat_id, game_id, game_username, created_at, due_at, finished_at)
     SELECT (900000000000000001 + n % 100)::text, gen_random_uuid(), 'link', (920000000000000000 + n)::text, n, 'User',
       now(), now(), CASE WHEN n % 10 = 0 THEN NULL ELSE now() END
     FROM generate_series(1, 100000) n`,
  );
  await databaseRows(testDatabase.url, 'ANALYZE members.verification_tokens');
  await databaseRows(testDatabase.url, 'VACUUM ANALYZE members.intents');
});

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const intent = { guildId: GUILD, operationId: randomUUID() };

test.each<[string, (on: Queryable) => Promise<unknown>, string[]]>([
  ['findToken by code', (on) => tokens.findToken(on, GUILD, 'code', [mac, mac]), ['verification_tokens_code']],
  ['findToken by token', (on) => tokens.findToken(on, GUILD, 'token', [mac]), ['verification_tokens_token']],
  ['reserveToken', (on) => tokens.reserveToken(on, GUILD, 5, randomUUID(), now), ['verification_tokens_pkey']],
  ['completeToken', (on) => tokens.completeToken(on, GUILD, 5, 7, now), ['verification_tokens_pkey']],
  ['releaseToken', (on) => tokens.releaseToken(on, GUILD, 5), ['verification_tokens_pkey']],
  ['openIntents', (on) => intents.openIntents(on, GUILD, { chatId: CHAT, gameId: 500 }, 20), ['intents_open']],
  ['findIntent', (on) => intents.findIntent(on, GUILD, intent.operationId), ['intents_pkey']],
  ['finishIntent', (on) => intents.finishIntent(on, intent), ['intents_pkey']],
  ['abandonIntent', (on) => intents.abandonIntent(on, intent, 'UNAVAILABLE'), ['intents_pkey']],
  [
    'due intents',
    (on) => new QueueStore(on, intents.INTENTS).due('', 100, 8),
    ['intents_guild_due', 'intents_guild_due', 'intents_guild_due'],
  ],
  ['take of an intent', (on) => new QueueStore(on, intents.INTENTS).take(GUILD, randomUUID(), 1), ['intents_pkey']],
])('on 100,000 rows %s uses only its index', async (_name, statement, indexes) => {
  expect(await scansOf(database, statement)).toEqual(indexes);
});

test('the statistics of the queue use only indexes', async () => {
  const scans = await scansOf(database, (on) => new QueueStore(on, intents.INTENTS).stats());
  expect(scans).toHaveLength(3);
  expect(scans.filter((scan) => !scan.startsWith('intents_'))).toEqual([]);
});

test('finished and expired rows are deleted after a day, and unfinished intents are not', async () => {
  const clock = new ManualClock(Date.now());
  const config = readMembersConfig({
    ...testEnvironment(testDatabase.url),
    LOOKUP_GRPC_ADDRESS: 'localhost:1',
    BINDINGS_GRPC_ADDRESS: 'localhost:1',
    CHAT_BOT_TOKEN: 'token',
  });
  const log = await createLog({ service: 'test', level: 'silent' });
  await database.query(
    `INSERT INTO members.idempotency (guild_id, method, path, key, body_hash, created_at)
     VALUES ($1, 'POST', '/', 'key', '', $2)`,
    [GUILD, now],
  );
  const retention = new Retention({ database, rules: retentionRules(config), clock, log });
  const count = async (table: string) => (await database.query(`SELECT 1 FROM members.${table}`)).length;
  const counts = () => Promise.all(['verification_tokens', 'intents', 'idempotency'].map(count));
  clock.advance(23 * 3600_000);
  await retention.sweep();
  expect(await counts()).toEqual([100_000, 100_000, 1]);
  clock.advance(2 * 3600_000);
  await retention.sweep();
  expect(await counts()).toEqual([0, 10_000, 0]);
});

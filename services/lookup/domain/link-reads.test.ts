import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { LinkReads } from './link-reads.ts';

const GUILDS = ['900000000000000001', '900000000000000002'] as const;
const chatId = (number: number) => `92000000000000${String(number).padStart(4, '0')}`;

let testDatabase: TestDatabase;
let database: Database;
let statements = 0;

/** The database, with a count of its statements. */
const counted: Queryable = {
  query(statement, values) {
    statements++;
    return database.query(statement, values);
  },
  isDistributed: async () => (await database.isDistributed?.()) ?? false,
};

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  // The same accounts are linked to others in the second guild.
  await databaseRows(
    testDatabase.url,
    `INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
     SELECT guild_id, '92000000000000' || lpad(n::text, 4, '0'), n + extra, 'User ' || n + extra, n + extra, now(), now()
     FROM generate_series(1, 100) n, (VALUES ($1, 0), ($2, 1000)) AS guilds (guild_id, extra)`,
    [...GUILDS],
  );
});

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

test('requests of one turn are read with one statement, and each gets only the links of its guild and users', async () => {
  const reads = new LinkReads(counted);
  const [first, second] = GUILDS;
  statements = 0;
  const found = await Promise.all([
    reads.find({ guildId: first, chatIds: [chatId(1)] }),
    reads.find({ guildId: second, chatIds: [chatId(1)] }),
    reads.find({ guildId: first, gameIds: [1001] }),
    reads.find({ guildId: second, gameIds: [1001, 1002] }),
    // Both accounts of one link: it is found once.
    reads.find({ guildId: first, chatIds: [chatId(3)], gameIds: [3, 4] }),
    reads.find({ guildId: first }),
  ]);
  expect(statements).toBe(1);
  expect(found.map((links) => links.map(({ gameId }) => gameId).sort((a, b) => a - b))).toEqual([
    [1],
    [1001],
    [],
    [1001, 1002],
    [3, 4],
    [],
  ]);
  expect(found[0]).toEqual([{ chatId: chatId(1), gameId: 1, gameUsername: 'User 1', version: 1 }]);
});

test('a read sees every link that was committed before it, although another read was waiting', async () => {
  const reads = new LinkReads(counted);
  const [guildId] = GUILDS;
  const earlier = reads.find({ guildId, gameIds: [7000] });
  await databaseRows(
    testDatabase.url,
    `INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
     VALUES ($1, $2, 7000, 'New', 7000, now(), now())`,
    [guildId, chatId(7000)],
  );
  expect(await reads.find({ guildId, gameIds: [7000] })).toHaveLength(1);
  await earlier;
});

test('a request for many users, and requests beyond the limit of a statement, have other statements', async () => {
  const reads = new LinkReads(counted);
  const [guildId] = GUILDS;
  statements = 0;
  const many = Array.from({ length: 26 }, (_, index) => index + 1);
  const one = Array.from({ length: 65 }, (_, index) => reads.find({ guildId, gameIds: [index + 1] }));
  expect(await reads.find({ guildId, gameIds: many })).toHaveLength(26);
  expect((await Promise.all(one)).flat().map(({ gameId }) => gameId)).toEqual(
    Array.from({ length: 65 }, (_, index) => index + 1),
  );
  expect(statements).toBe(3);
});

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '#kit/postgres/pool.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { countLinks, insertLink } from './store/links.ts';

const GUILD = '900000000000000001';
const OTHER = '900000000000000002';

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

/** Inserts links directly into the database, as an earlier release would. */
const add = (from: number, to: number, guildId = GUILD) =>
  databaseRows(
    testDatabase.url,
    `INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
     SELECT $1, (920000000000000000 + n)::text, n, 'User', n, now(), now() FROM generate_series($2::int, $3::int) n`,
    [guildId, from, to],
  );
const remove = (condition: string) => databaseRows(testDatabase.url, `DELETE FROM lookup.links WHERE ${condition}`);
const counts = () => Promise.all([GUILD, OTHER].map((guildId) => countLinks(database, guildId)));
const counted = async () => {
  const rows = await database.query<{ guildId: string; count: number }>(
    'SELECT guild_id AS "guildId", count(*)::int AS count FROM lookup.links GROUP BY guild_id',
  );
  return [GUILD, OTHER].map((id) => rows.find(({ guildId }) => guildId === id)?.count ?? 0);
};

test('the number of links is correct after every kind of write', async () => {
  expect(await counts()).toEqual([0, 0]);
  await add(1, 1_000);
  await add(1, 10, OTHER);
  expect(await counts()).toEqual([1_000, 10]);
  await remove('game_id <= 5');
  expect(await counts()).toEqual([995, 5]);
  await database.query('BEGIN');
  await database.query(`DELETE FROM lookup.links WHERE guild_id = '${GUILD}'`);
  await database.query('ROLLBACK');
  expect(await counts()).toEqual([995, 5]);
  // Rejected, because the account is linked already.
  await expect(add(6, 6)).rejects.toThrow('links_chat');
  expect(await counts()).toEqual([995, 5]);
});

test('concurrent writes are all counted', async () => {
  const work = Array.from({ length: 20 }, (_, index) => async () => {
    const from = 10_000 + index * 50;
    await add(from, from + 49);
    await remove(`game_id BETWEEN ${from} AND ${from + 24}`);
  });
  await Promise.all(work.map((one) => one()));
  expect(await counts()).toEqual(await counted());
  expect((await counts())[0]).toBe(995 + 20 * 25);
}, 60_000);

test('a long transaction does not block other writes of its guild', async () => {
  const before = (await counts())[0] ?? 0;
  await database.transaction(async (held) => {
    const link = { gameUsername: 'User' };
    await insertLink(held, GUILD, randomUUID(), { ...link, chatId: '930000000000000001', gameId: 900_001 });
    await add(910_000, 910_009);
  });
  expect((await counts())[0]).toBe(before + 11);
});

test('the number is read as fast for a guild with many links', async () => {
  await add(100_000, 200_000);
  const read = async () => {
    const rows = await database.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN (ANALYZE, BUFFERS) SELECT coalesce(sum(count), 0)::int FROM lookup.link_counts WHERE guild_id = '${GUILD}'`,
    );
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  };
  expect(await read()).not.toContain('lookup.links');
  const [rows] = await database.query<{ rows: number }>(
    `SELECT count(*)::int AS rows FROM lookup.link_counts WHERE guild_id = '${GUILD}'`,
  );
  // There are at most as many rows as there were concurrent writes.
  expect(rows?.rows).toBeLessThanOrEqual(21);
  expect(await counts()).toEqual(await counted());
});

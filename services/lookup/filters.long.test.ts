import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '#kit/postgres/pool.ts';
import { amount } from '#test/measure/bounds.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { costOf } from '#test/postgres/explain.ts';
import * as store from './store/links.ts';

const GUILD = '900000000000000001';
const ROWS = amount(200_000, 1_000_000);
const LIMIT = 101;
/** Enough buffers for two pages of scattered rows, a lookup of the link for each, and a few index levels. */
const MAX_PAGES = 6 * LIMIT + 50;
const FIRST_CHAT_ID = 920000000000000000n;
const MICROSECONDS_PER_HOUR = 3600_000_000;

const end = new Date('2026-06-01T00:00:00Z');
const hoursBeforeEnd = (hours: number) => end.getTime() * 1000 - hours * MICROSECONDS_PER_HOUR;

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  const seed = (text: string, values: unknown[] = []) => databaseRows(testDatabase.url, text, values);
  const at = `$2::timestamptz - n * interval '1 second'`;
  await seed(
    `INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
     SELECT $1, (${FIRST_CHAT_ID} + n)::text, n, 'Player', n, ${at}, ${at} FROM generate_series(1, $3::int) n`,
    [GUILD, end, ROWS],
  );
  // Each of these accounts was linked to another account before.
  await seed(
    `INSERT INTO lookup.link_history
       (guild_id, id, operation_id, action, chat_id, game_id, game_username, version, created_at)
     SELECT $1, n, gen_random_uuid(), 'unlinked', (${FIRST_CHAT_ID} + n)::text, n + $3, 'Player', n, ${at}
     FROM generate_series(1, $3::int) n`,
    [GUILD, end, ROWS],
  );
  for (const table of ['links', 'link_history']) await seed(`VACUUM ANALYZE lookup.${table}`);
}, 300_000);

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

test.each([
  ['all links', 0, false],
  ['links after a position', hoursBeforeEnd(100), false],
  ['changes since a time', hoursBeforeEnd(100), true],
  ['changes since a time without changes', hoursBeforeEnd(0), true],
])(
  `on ${ROWS} rows of one guild a page of %s reads about as many database pages as its rows take`,
  async (_name, updatedAt, withUnlinked) => {
    const { pages, discarded } = await costOf(database, (on) =>
      store.listLinks(on, GUILD, { updatedAt, chatId: '' }, { limit: LIMIT, withUnlinked }),
    );
    expect(discarded).toBe(0);
    expect(pages).toBeLessThanOrEqual(MAX_PAGES);
  },
);

test('the history of an account and the number of links are read without skipping rows', async () => {
  const history = await costOf(database, (on) => store.listChanges(on, GUILD, String(FIRST_CHAT_ID + 5n), LIMIT));
  const count = await costOf(database, (on) => store.countLinks(on, GUILD));
  expect([history.discarded, count.discarded]).toEqual([0, 0]);
  expect(Math.max(history.pages, count.pages)).toBeLessThan(50);
});

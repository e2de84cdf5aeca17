import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import type { Database, Queryable } from '../postgres/pool.ts';
import { createLog, type Logger } from '../telemetry/log.ts';
import { Erasure } from './erasure.ts';
import { erasureMethods } from './erasure-methods.ts';
import type { ErasureRule } from './erasure-rules.ts';

const GUILD = '900000000000000001';
const OTHER = '900000000000000002';

let testDatabase: TestDatabase;
let database: Database;
let log: Logger;
const logged: string[] = [];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  log = await createLog({ service: 'test', level: 'info', destination: { write: (line) => void logged.push(line) } });
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});
beforeEach(async () => {
  await database.query('CREATE TABLE notes (guild_id text, kind text, author bigint, reader bigint, seen_by text)');
});
afterEach(async () => {
  logged.length = 0;
  await database.query('DROP TABLE notes');
});

const rules: ErasureRule[] = [
  {
    table: 'notes',
    keptRows: `kind = 'law'`,
    users: [
      { column: 'author', account: 'game' },
      { column: 'reader', account: 'game', empty: { reader: 'NULL' } },
      { column: 'seen_by', account: 'chat', matches: `seen_by LIKE '%' || $user || '%'`, empty: { seen_by: 'NULL' } },
    ],
  },
];

const fill = (guild: string, count: number, more = `'note', i, i + 1, NULL`) =>
  database.query(`INSERT INTO notes SELECT $1, ${more} FROM generate_series(1, ${count}) i`, [guild]);
const count = async (condition: string) =>
  (await database.query<{ n: number }>(`SELECT count(*) AS n FROM notes WHERE ${condition}`))[0]?.n;

test('a guild is erased in batches; other guilds and kept rows stay, and a repeated call erases nothing', async () => {
  await fill(GUILD, 2_500);
  await fill(OTHER, 10);
  await fill(GUILD, 3, `'law', 1, 1, NULL`);
  const erased: string[] = [];
  const statements: unknown[] = [];
  const watched: Queryable = {
    query: (text, values) => {
      statements.push(text);
      return database.query(text, values);
    },
  };
  const erasure = new Erasure({ database: watched, rules, log, erased: (guild) => erased.push(guild) });
  expect(await erasure.eraseGuild(GUILD, true)).toEqual({ tables: [{ table: 'notes', rows: 2_500 }], isDone: true });
  expect(await count('TRUE')).toBe(2_513);
  expect(erased).toEqual([]);
  statements.length = 0;
  expect(await erasure.eraseGuild(GUILD, false)).toEqual({ tables: [{ table: 'notes', rows: 2_500 }], isDone: true });
  expect(statements).toHaveLength(4);
  expect([await count(`guild_id = '${OTHER}'`), await count(`kind = 'law'`), await count('TRUE')]).toEqual([10, 3, 13]);
  expect(await erasure.eraseGuild(GUILD, false)).toEqual({ tables: [], isDone: true });
  expect(erased).toEqual([GUILD]);
});

test("a user's rows are deleted or emptied by the rules, only in this guild, and the log does not name the user", async () => {
  for (const guild of [GUILD, OTHER]) {
    await fill(guild, 20);
    await fill(guild, 1, `'note', 99, 99, 'x 920000000000000009 y'`);
  }
  const methods = erasureMethods({ database, rules, log });
  const request = { guildId: GUILD, gameId: 7, chatId: '920000000000000009' };
  const rows = [{ table: 'notes', rows: 3 }];
  expect(await methods.eraseUser({ ...request, dryRun: true })).toEqual({ tables: rows, isDone: true });
  expect(await methods.eraseUser({ ...request, dryRun: false })).toEqual({ tables: rows, isDone: true });
  const here = `guild_id = '${GUILD}'`;
  expect(await count(`${here} AND (author = 7 OR reader = 7 OR seen_by IS NOT NULL)`)).toBe(0);
  expect([await count(here), await count(`${here} AND reader IS NULL`)]).toEqual([20, 1]);
  expect(await count(`guild_id = '${OTHER}' AND (author = 7 OR reader = 7 OR seen_by IS NOT NULL)`)).toBe(3);
  expect(await methods.eraseUser({ ...request, dryRun: false })).toEqual({ tables: [], isDone: true });
  expect(logged.join('')).toContain('erased personal data');
  expect(logged.join('')).not.toMatch(/920000000000000009|"7"/);
});

test('an interrupted erasure continues with the next call', async () => {
  await fill(GUILD, 3_000);
  let left = 2;
  const failing: Queryable = {
    query: (text, values) => (left-- > 0 ? database.query(text, values) : Promise.reject(new Error('cut off'))),
  };
  const erased: string[] = [];
  const interrupted = new Erasure({ database: failing, rules, log, erased: (guild) => erased.push(guild) });
  await expect(interrupted.eraseGuild(GUILD, false)).rejects.toThrow('cut off');
  expect(erased).toEqual([GUILD]);
  expect(await count('TRUE')).toBe(1_000);
  const rest = await new Erasure({ database, rules, log }).eraseGuild(GUILD, false);
  expect(rest).toEqual({ tables: [{ table: 'notes', rows: 1_000 }], isDone: true });
});

test('two concurrent erasures count each row once', async () => {
  await fill(GUILD, 3_000);
  const erasure = new Erasure({ database, rules, log });
  const both = await Promise.all([erasure.eraseGuild(GUILD, false), erasure.eraseGuild(GUILD, false)]);
  expect(both.flatMap(({ tables }) => tables).reduce((sum, { rows }) => sum + rows, 0)).toBe(3_000);
  expect(await count('TRUE')).toBe(0);
});

test('a guild that cannot be erased yet keeps its rows, and the result says that it is not done', async () => {
  await fill(GUILD, 1);
  const erasure = new Erasure({ database, rules, log, canEraseGuild: async () => false });
  expect(await erasure.eraseGuild(GUILD, false)).toEqual({ tables: [], isDone: false });
  expect(await count('TRUE')).toBe(1);
});

test.each([
  [{ guildId: '0', dryRun: false }],
  [{ guildId: '12', gameId: 7, dryRun: false }],
  [{ guildId: GUILD, dryRun: false }],
  [{ guildId: GUILD, chatId: '%', dryRun: false }],
  [{ guildId: GUILD, gameId: 0, dryRun: false }],
])('%j is rejected', async (message) => {
  const methods = erasureMethods({ database, rules, log });
  await expect(methods.eraseUser(message)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
});

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { nodesOf } from '#test/postgres/explain.ts';
import { ApiError } from '../errors.ts';
import type { ErasureRule } from '../personal-data/erasure-rules.ts';
import { type Database, prepared } from '../postgres/pool.ts';
import { createLog, type Logger } from '../telemetry/log.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { MAX_EXACT, RowCounts } from './row-counts.ts';
import { countByWalking, WALK_STEP } from './row-walk.ts';

const GUILD = '900000000000000001';
const OTHER = '900000000000000002';

let testDatabase: TestDatabase;
let database: Database;
let log: Logger;
/** The SQL of the statements that `watched` has run. */
let statements: string[] = [];
/** Awaited before each statement of a count in the background. */
let gate: Promise<void> = Promise.resolve();
/** Awaited before each statement that counts small tables. */
let exactGate: Promise<void> = Promise.resolve();
let watched: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  log = await createLog({ service: 'test', level: 'silent' });
  watched = {
    ...database,
    query: async (statement, values) => {
      const text = typeof statement === 'string' ? statement : statement.text;
      statements.push(text);
      if (text.includes('OFFSET')) await gate;
      if (text.includes('AS c0')) await exactGate;
      return database.query(statement, values);
    },
  };
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});
beforeEach(async () => {
  statements = [];
  gate = Promise.resolve();
  exactGate = Promise.resolve();
  await database.query(
    'CREATE TABLE notes (guild_id text COLLATE "C", at timestamptz, name text COLLATE "C", PRIMARY KEY (guild_id, at, name))',
  );
  await database.query('CREATE TABLE marks (guild_id text COLLATE "C" PRIMARY KEY, amount bigint)');
});
afterEach(() => database.query('DROP TABLE notes, marks'));

const rules: ErasureRule[] = [
  { table: 'notes', holds: 'links' },
  { table: 'marks', holds: 'other' },
  { table: 'kept', keptRows: 'TRUE' },
];
const fill = (guild: string, from: number, to: number) =>
  database.query(
    // Times that differ by microseconds, and several rows of one time.
    `INSERT INTO notes SELECT $1, '2026-01-01'::timestamptz + (n / 3) * interval '1 microsecond', n::text
     FROM generate_series(${from}::int, ${to}::int) n`,
    [guild],
  );
function createCounts(changes: { rules?: ErasureRule[]; now?: () => number } = {}): RowCounts {
  return new RowCounts({ database: watched, rules, metrics: new Metrics(), log, ...changes });
}

describe('a small guild', () => {
  test('is counted exactly by kind, in one statement', async () => {
    await fill(GUILD, 1, 1_234);
    await fill(OTHER, 1, 10);
    await database.query('INSERT INTO marks VALUES ($1, 5)', [GUILD]);
    const counts = createCounts();
    await counts.of(OTHER);
    statements = [];
    expect(await counts.of(GUILD)).toEqual([
      { kind: 'links', rows: 1_234 },
      { kind: 'other', rows: 1 },
    ]);
    expect(statements).toHaveLength(1);
    await fill(GUILD, 1_235, 1_236);
    expect((await counts.of(GUILD))[0]?.rows).toBe(1_236);
    expect(await counts.of('900000000000000003')).toEqual([
      { kind: 'links', rows: 0 },
      { kind: 'other', rows: 0 },
    ]);
  });

  test('has the sum of several tables of one kind, and counts that a table knows are not counted', async () => {
    await fill(GUILD, 1, 7);
    await database.query('INSERT INTO marks VALUES ($1, 5000000)', [GUILD]);
    const rowCount = '(SELECT amount FROM marks WHERE guild_id = $1)';
    const counts = createCounts({
      rules: [
        { table: 'notes', holds: 'events' },
        { table: 'marks', holds: 'events', rowCount },
      ],
    });
    expect(await counts.of(GUILD)).toEqual([{ kind: 'events', rows: 5_000_007 }]);
    expect(await counts.of(OTHER)).toEqual([{ kind: 'events', rows: 0 }]);
  });

  test('is counted by an index, whatever the share of its rows in the table', async () => {
    await fill(GUILD, 1, 50_000);
    await database.query('VACUUM ANALYZE notes');
    await createCounts({ rules: rules.slice(0, 1) }).of(OTHER);
    const nodes = await nodesOf(database, (on) => on.query(prepared(statements.at(-1) ?? ''), [GUILD]));
    expect(nodes).toContain('Index Only Scan notes_pkey');
  });
});

describe('a statement that takes long', () => {
  test('occupies one connection, however many guilds are counted and however often', async () => {
    const held = Promise.withResolvers<void>();
    exactGate = held.promise;
    const counts = createCounts();
    const guilds = [GUILD, OTHER, '900000000000000003'];
    const running = () => statements.filter((text) => text.includes('AS c0')).length;
    for (let call = 0; call < 2; call++) {
      const errors = await Promise.all(guilds.map((guild) => counts.of(guild).catch((error: unknown) => error)));
      for (const error of errors) expect(error).toMatchObject({ code: 'UNAVAILABLE', retryAfter: 5 });
      expect(running()).toBe(1);
    }
    held.resolve();
    expect((await counts.of(GUILD))[0]?.rows).toBe(0);
  });

  test('makes calls about more than a hundred guilds fail at once', async () => {
    const held = Promise.withResolvers<void>();
    exactGate = held.promise;
    const counts = createCounts();
    const guilds = Array.from({ length: 105 }, (_, n) => String(910000000000000000n + BigInt(n)));
    const errors = await Promise.all(guilds.map((guild) => counts.of(guild).then(String, String)));
    expect(errors.filter((message) => message.includes('too many guilds'))).toHaveLength(4);
    held.resolve();
    await vi.waitFor(async () => expect(await counts.of(GUILD)).toHaveLength(2), { timeout: 20_000 });
  });
});

describe('a large guild', () => {
  const rows = MAX_EXACT + 5_000;

  test('is counted in the background, and the count is used for a time that grows with it', async () => {
    let now = 0;
    const counts = createCounts({ now: () => now });
    await fill(GUILD, 1, rows);
    expect((await counts.of(GUILD))[0]?.rows).toBe(rows);
    await fill(GUILD, rows + 1, rows + 1_000);
    now = rows * 0.6 - 1;
    expect((await counts.of(GUILD))[0]?.rows).toBe(rows);
    now = rows * 0.6;
    expect((await counts.of(GUILD))[0]?.rows).toBe(rows + 1_000);
    // After an erasure few rows are left, which are counted exactly at once.
    await database.query('DELETE FROM notes WHERE guild_id = $1', [GUILD]);
    await fill(GUILD, 1, 3);
    expect((await counts.of(GUILD))[0]?.rows).toBe(3);
  });

  test('gets 503 until its first count is ready, and others are not affected', async () => {
    await fill(GUILD, 1, rows);
    await fill(OTHER, 1, 2);
    const counts = createCounts();
    const held = Promise.withResolvers<void>();
    gate = held.promise;
    const error = await counts.of(GUILD).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'UNAVAILABLE', retryAfter: 5 });
    expect((await counts.of(OTHER))[0]?.rows).toBe(2);
    held.resolve();
    await vi.waitFor(async () => expect((await counts.of(GUILD))[0]?.rows).toBe(rows), { timeout: 20_000 });
  });

  test('keeps its last count while it is counted again, but not for long', async () => {
    let now = 0;
    const counts = createCounts({ now: () => now });
    await fill(GUILD, 1, rows);
    await counts.of(GUILD);
    await fill(GUILD, rows + 1, rows + 10);
    const held = Promise.withResolvers<void>();
    gate = held.promise;
    now = rows * 0.6 + 1;
    expect((await counts.of(GUILD))[0]?.rows).toBe(rows);
    now = rows * 1.2;
    await expect(counts.of(GUILD)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    held.resolve();
    await vi.waitFor(async () => expect((await counts.of(GUILD))[0]?.rows).toBe(rows + 10), { timeout: 20_000 });
  });

  test('is counted once for concurrent calls, and one guild after the other', async () => {
    const guilds = [GUILD, OTHER];
    for (const guild of guilds) await fill(guild, 1, rows);
    const counts = createCounts();
    const found = await Promise.all([...guilds, ...guilds].map((guild) => counts.of(guild)));
    expect(found.map(([links]) => links?.rows)).toEqual(Array(4).fill(rows));
    expect(statements.filter((text) => text.includes('OFFSET'))).toHaveLength(2 * Math.ceil(rows / WALK_STEP));
  });

  test('whose count fails gets the error, and the next call counts again', async () => {
    await fill(GUILD, 1, rows);
    const counts = createCounts();
    gate = Promise.reject(new ApiError('UNAVAILABLE'));
    gate.catch(() => undefined);
    await expect(counts.of(GUILD)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
    gate = Promise.resolve();
    expect((await counts.of(GUILD))[0]?.rows).toBe(rows);
  });
});

describe('counting step by step', () => {
  test.each([1, 2, 7, 99, 100, 101, 1_000])('is exact with steps of %i rows', async (step) => {
    await fill(GUILD, 1, 100);
    await fill(OTHER, 1, 30);
    expect(await countByWalking(database, 'notes', GUILD, step)).toBe(100);
    expect(await countByWalking(database, 'notes', '900000000000000003', step)).toBe(0);
  });

  test('works for every table of the services whose rows are counted', async () => {
    const services = ['activity', 'auth', 'bindings', 'events', 'lookup', 'members', 'moderation'];
    for (const service of services) {
      const { erasureRules } = (await import(`../../${service}/erasure.ts`)) as { erasureRules: ErasureRule[] };
      const own = erasureRules.filter(({ holds }) => holds !== undefined);
      expect(own.length).toBeGreaterThan(3);
      for (const { table } of own) expect(await countByWalking(database, table, GUILD, 1)).toBe(0);
      const rows = await new RowCounts({ database, rules: erasureRules, metrics: new Metrics(), log }).of(GUILD);
      expect(rows.every((row) => row.rows === 0)).toBe(true);
    }
  });

  test('reads the rest by the index of the primary key', async () => {
    await fill(GUILD, 1, 50_000);
    await fill(OTHER, 1, 50_000);
    await database.query('VACUUM ANALYZE notes');
    const nodes: string[] = [];
    const explained: Database = {
      ...database,
      query: async (statement, values) => {
        const text = typeof statement === 'string' ? statement : statement.text;
        if (text.includes('FROM notes')) nodes.push(...(await nodesOf(database, (on) => on.query(text, values))));
        return database.query(statement, values);
      },
    };
    expect(await countByWalking(explained, 'notes', GUILD, 20_000)).toBe(50_000);
    expect(nodes.filter((node) => node.includes('Scan'))).toEqual(Array(4).fill('Index Only Scan notes_pkey'));
    expect(nodes.filter((node) => node.includes('Sort'))).toEqual([]);
  });
});

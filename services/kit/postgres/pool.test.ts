import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { isYoung } from '#test/measure/young-generation.ts';
import { startTcpProxy } from '#test/network/tcp-proxy.ts';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { ApiError } from '../errors.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { type Database, isUniqueViolation, openDatabase, type Transaction } from './pool.ts';

const log = pino({ level: 'silent' });
const UNAVAILABLE = expect.objectContaining({ code: 'UNAVAILABLE' });
let testDatabase: TestDatabase;
let metrics: Metrics;
let database: Database;

function open(url: string, poolMax = 2, name = 'kit-test'): Database {
  metrics = new Metrics();
  const opened = openDatabase({ url, poolMax, name, metrics, log });
  return opened;
}

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const setup = open(testDatabase.url);
  await setup.query('CREATE TABLE public.boats (id bigint PRIMARY KEY, name text)');
  await setup.query('CREATE TABLE public.crews (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)');
  await setup.close();
  return () => testDatabase.drop();
});

beforeEach(async () => {
  database = open(testDatabase.url);
  await database.query('TRUNCATE public.boats, public.crews');
  return () => database.close();
});

const boats = async () =>
  (await database.query<{ id: number }>('SELECT id FROM public.boats ORDER BY id')).map(({ id }) => id);
const insert = (id: number) => ['INSERT INTO public.boats (id) VALUES ($1)', [id]] as const;
const backend = async (on: Pick<Database, 'query'>) =>
  (await on.query<{ pid: number }>('SELECT pg_backend_pid() AS pid'))[0]?.pid;

test('64-bit integers are numbers, alone and in arrays', async () => {
  const text =
    "SELECT 9007199254740991::bigint AS a, ARRAY[1, NULL, 9007199254740991]::bigint[] AS b, count(*) AS c, '1' AS d";
  expect(await database.query(text)).toEqual([{ a: 9007199254740991, b: [1, null, 9007199254740991], c: 1, d: '1' }]);
});

test('a transaction commits the work, or rolls it back and throws its error', async () => {
  expect(await database.transaction(async (transaction) => (await transaction.query(...insert(1)), 'done'))).toBe(
    'done',
  );
  const failure = new Error('of the work');
  const failing = database.transaction(async (transaction) => {
    await transaction.query(...insert(2));
    throw failure;
  });
  await expect(failing).rejects.toBe(failure);
  expect(await boats()).toEqual([1]);
});

test('a transaction whose work continues after a failed statement fails, instead of succeeding without an effect', async () => {
  const swallowing = database.transaction(async (transaction) => {
    await transaction.query(...insert(1));
    await transaction.query(...insert(1)).catch(() => undefined);
  });
  await expect(swallowing).rejects.toThrow('was rolled back');
  expect(await boats()).toEqual([]);
});

test('a statement that comes after the end of its transaction is rejected, and is not part of the next one', async () => {
  const late: (() => Promise<unknown>)[] = [];
  const keep = async (transaction: Transaction) => {
    late.push(() => transaction.query(...insert(1)));
    if (late.length > 1) throw new Error('of the work');
  };
  await database.transaction(keep);
  await expect(database.transaction(keep)).rejects.toThrow('of the work');
  await database.transaction(async (transaction) => {
    for (const send of late) await expect(send()).rejects.toThrow('the transaction has ended');
    await transaction.query(...insert(2));
  });
  expect(await boats()).toEqual([2]);
});

test('a failed COMMIT is thrown, and the connection stays usable', async () => {
  const pid = await backend(database);
  const failing = database.transaction((transaction) => transaction.query('INSERT INTO public.crews VALUES (1), (1)'));
  const error = await failing.catch((thrown: unknown) => thrown);
  expect(isUniqueViolation(error)).toBe(true);
  expect(isUniqueViolation(error, 'crews_id_key')).toBe(true);
  expect(isUniqueViolation(error, 'boats_pkey')).toBe(false);
  expect(await backend(database)).toBe(pid);
});

test.each([
  ['a statement', 'SELECT * FROM public.nowhere', []],
  ['a value', 'SELECT $1::int', ['x']],
  ['a character', 'SELECT $1::text', ['\u0000']],
])("%s that the database rejects gives the database's error and keeps the connection", async (_what, text, values) => {
  const pid = await backend(database);
  const error = await database.query(text, values).catch((thrown: unknown) => thrown);
  expect(error).not.toBeInstanceOf(ApiError);
  expect(await backend(database)).toBe(pid);
});

test('a value that cannot be sent is a programming error, not an outage', async () => {
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  await expect(database.query('SELECT $1::jsonb', [circular])).rejects.toThrow(TypeError);
  expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('an error of the work does not close the connection, even UNAVAILABLE of another service', async () => {
  const pids = new Set<unknown>();
  for (let time = 0; time < 3; time++) {
    const failing = database.transaction(async (transaction) => {
      pids.add(await backend(transaction));
      throw new ApiError('UNAVAILABLE', { message: 'the platform is down' });
    });
    await expect(failing).rejects.toThrow('the platform is down');
  }
  expect(pids.size).toBe(1);
});

test('with all connections in use a caller waits at most two seconds and gets UNAVAILABLE', async () => {
  const release = Promise.withResolvers<void>();
  const held = [1, 2].map(() => database.transaction(() => release.promise));
  const started = performance.now();
  await expect(database.query('SELECT 1')).rejects.toThrow(UNAVAILABLE);
  expect(performance.now() - started).toBeGreaterThan(1_400);
  expect(performance.now() - started).toBeLessThan(4_000);
  const gauge = await metrics.registry.getSingleMetricAsString('postgres_pool_connections');
  expect(gauge).toContain('postgres_pool_connections{state="used"} 2');
  release.resolve();
  await Promise.all(held);
  expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  expect(await metrics.registry.getSingleMetricAsString('postgres_pool_wait_seconds')).toMatch(/_count [1-9]/);
});

test.each([
  ['nothing listens', 'postgres://127.0.0.1:1/x'],
  ['the database does not exist', ''],
])('a failed connection attempt gives UNAVAILABLE: %s', async (_what, url) => {
  const absent = new URL(testDatabase.url);
  absent.pathname = '/absent';
  const other = open(url || absent.href);
  await expect(other.query('SELECT 1')).rejects.toThrow(UNAVAILABLE);
  await other.close();
});

test('a connection lost between two statements rolls back, gives UNAVAILABLE and is replaced', async () => {
  const failing = database.transaction(async (transaction) => {
    await transaction.query(...insert(1));
    const pid = await backend(transaction);
    await database.query('SELECT pg_terminate_backend($1::int)', [pid]);
    await expect.poll(() => database.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [pid])).toEqual([]);
    // The loss arrives as an event that nothing here can wait for.
    await wait(20);
    await transaction.query(...insert(2));
  });
  await expect(failing).rejects.toThrow(UNAVAILABLE);
  expect(await boats()).toEqual([]);
});

test('a session that the server ends during a statement gives UNAVAILABLE and is replaced', async () => {
  const outcome = database.query('SELECT pg_sleep(30)').catch((error: unknown) => error);
  const end = () =>
    database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(30)%' AND pid <> pg_backend_pid()",
    );
  await expect.poll(end).toHaveLength(1);
  expect(await outcome).toEqual(UNAVAILABLE);
  await Promise.all([1, 2, 3].map(() => database.query('SELECT 1')));
});

test.each([
  ['a statement that takes too long', "SET LOCAL statement_timeout = '50ms'", 'SELECT pg_sleep(10)'],
  ['a lock that is not granted', "SET LOCAL lock_timeout = '50ms'", 'LOCK public.boats'],
  ['a server that has become read-only', 'SET TRANSACTION READ ONLY', 'INSERT INTO public.boats VALUES (5)'],
])('%s is UNAVAILABLE', async (_what, setting, text) => {
  const release = Promise.withResolvers<void>();
  const holding = database.transaction(async (transaction) => {
    await transaction.query('LOCK public.boats IN ACCESS SHARE MODE');
    await release.promise;
  });
  const failing = database.transaction(async (transaction) => {
    await transaction.query(setting);
    await transaction.query(text);
  });
  await expect(failing).rejects.toThrow(UNAVAILABLE);
  release.resolve();
  await holding;
});

test('of two deadlocked transactions one commits and the other gets UNAVAILABLE', async () => {
  await database.query('INSERT INTO public.boats VALUES (1), (2)');
  const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const lock = (first: number, second: number, mine: 0 | 1) =>
    database.transaction(async (transaction) => {
      await transaction.query('UPDATE public.boats SET name = $2 WHERE id = $1', [first, 'x']);
      both[mine].resolve();
      await both[mine === 0 ? 1 : 0].promise;
      await transaction.query('UPDATE public.boats SET name = $2 WHERE id = $1', [second, 'x']);
    });
  const results = await Promise.allSettled([lock(1, 2, 0), lock(2, 1, 1)]);
  const failed = results.filter((result) => result.status === 'rejected');
  expect(failed.map(({ reason }) => reason as unknown)).toEqual([UNAVAILABLE]);
});

test('a connection that stops responding in a transaction gives UNAVAILABLE once and is replaced', async () => {
  const url = new URL(testDatabase.url);
  const proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  const other = open(url.href, 1);
  const started = performance.now();
  const failing = other.transaction(async (transaction) => {
    await transaction.query('SELECT 1');
    proxy.freeze();
    await transaction.query('SELECT 1');
  });
  await expect(failing).rejects.toThrow(UNAVAILABLE);
  expect(performance.now() - started).toBeLessThan(9_000);
  expect(await other.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  await other.close();
  await proxy.close();
});

test('a transaction whose connection broke gives UNAVAILABLE although its work continued', async () => {
  const going = database.transaction(async (transaction) => {
    await transaction.query('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => undefined);
    return 'done';
  });
  await expect(going).rejects.toThrow(UNAVAILABLE);
});

test('the stack trace of a database error contains the caller', async () => {
  await expect(database.query('SELECT 1 / 0')).rejects.toMatchObject({
    stack: expect.stringMatching(/^error: division by zero\n[^]*postgres\/pool\.test\.ts/),
  });
});

test('a query and its rows are freed without a full garbage collection', async () => {
  const sent = vi.spyOn(Client.prototype, 'query');
  await database.query('SELECT 1');
  const [, callback] = sent.mock.lastCall as unknown[];
  sent.mockRestore();
  expect(isYoung(callback)).toBe(true);
});

test('the metrics show the size of the pool, its use, its waiting callers and its failures', async () => {
  const release = Promise.withResolvers<void>();
  const held = [0, 1].map(() => database.transaction(() => release.promise));
  const third = database.query('SELECT 1');
  const shown = async () => (await metrics.registry.metrics()).split('\n');
  const busy = [
    'postgres_pool_connections{state="used"} 2',
    'postgres_pool_connections{state="waiting"} 1',
    'postgres_pool_connections_max 2',
    'postgres_pool_failures_total 0',
  ];
  await expect.poll(shown).toEqual(expect.arrayContaining(busy));
  await expect(third).rejects.toThrow(UNAVAILABLE);
  expect(await shown()).toContain('postgres_pool_failures_total 1');
  release.resolve();
  await Promise.all(held);
});

test('the pool may be closed twice', async () => {
  const other = open(testDatabase.url);
  await other.query('SELECT 1');
  await Promise.all([other.close(), other.close()]);
  await expect(other.query('SELECT 1')).rejects.toThrow(UNAVAILABLE);
});

afterAll(() => vi.useRealTimers());

import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { startTcpProxy } from '#test/network/tcp-proxy.ts';
import { PATIENCE } from '#test/patience.ts';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { ApiError, asApiError, type ErrorCode } from '../errors.ts';
import { ok } from '../http/envelope.ts';
import { SecretRing } from '../security/keyring.ts';
import { createLog } from '../telemetry/log.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { Idempotency, type IdempotentWrite, StoredResponse } from './idempotency.ts';
import { type Database, openDatabase, type Queryable } from './pool.ts';

const CONNECTIONS = 5;
const ring = new SecretRing(['a secret for tests, which is long enough']);
const DAY_SECONDS = 24 * 3600;
let testDatabase: TestDatabase;
let database: Database;
let idempotency: Idempotency;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const log = await createLog({ service: 'test', level: 'silent' });
  const options = { name: 'kit-test', metrics: new Metrics(), log };
  database = openDatabase({ url: testDatabase.url, poolMax: CONNECTIONS, ...options });
  await database.query('CREATE SCHEMA fleet');
  await database.query('CREATE TABLE fleet.idempotency (LIKE members.idempotency INCLUDING ALL)');
  await database.query('CREATE TABLE fleet.boats (name text PRIMARY KEY)');
  idempotency = new Idempotency({ schema: 'fleet', database, ring, responseTtlSeconds: DAY_SECONDS });
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});
beforeEach(() => database.query('TRUNCATE fleet.idempotency, fleet.boats'));

function write(own: Partial<IdempotentWrite> = {}): IdempotentWrite {
  const route = { method: 'POST', path: '/api/v1/boats', status: 201, message: 'Boat built' };
  return { guildId: '900000000000000001', ...route, key: 'k-1', bodyHash: Buffer.alloc(32), ...own };
}

const build = async (transaction: Queryable, name: string) => {
  await transaction.query('INSERT INTO fleet.boats VALUES ($1)', [name]);
  return ok({ name });
};
const boats = async () =>
  (await database.query<{ name: string }>('SELECT name FROM fleet.boats')).map(({ name }) => name);
const prepared = (prepare: () => Promise<string>, own: Partial<IdempotentWrite> = {}) =>
  idempotency.afterPreparing(write(own), prepare, build);
const ada = async () => 'Ada';

test('prepared work is done once: a repeat gets the first response and prepares nothing', async () => {
  expect(await prepared(ada)).toEqual({ data: { name: 'Ada' } });
  const prepare = vi.fn<() => Promise<string>>();
  expect(await prepared(prepare)).toBeInstanceOf(StoredResponse);
  expect(prepare).not.toHaveBeenCalled();
  expect(await boats()).toEqual(['Ada']);
});

test('without a key it is done and not stored', async () => {
  expect(await prepared(ada, { key: undefined })).toEqual({ data: { name: 'Ada' } });
  expect(await database.query('SELECT 1 FROM fleet.idempotency')).toEqual([]);
});

test('it holds no database connection while it is prepared, and a repeat gets Retry-After', async () => {
  const others = async () => {
    await expect(prepared(ada)).rejects.toMatchObject({ code: 'CONFLICT', retryAfter: 1 });
    await Promise.all(Array.from({ length: CONNECTIONS }, () => database.transaction((on) => on.query('SELECT 1'))));
    return 'Ada';
  };
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map((key) => prepared(async () => key, { key })));
  expect(await prepared(others)).toEqual({ data: { name: 'Ada' } });
});

test('storable errors are stored, and every other error releases the key', async () => {
  const rejected = (code: ErrorCode, key: string) => prepared(() => Promise.reject(new ApiError(code)), { key });
  await expect(rejected('NOT_APPLICABLE', 'kept')).rejects.toMatchObject({ code: 'NOT_APPLICABLE' });
  expect(await prepared(ada, { key: 'kept' })).toMatchObject({ status: 422 });
  await expect(rejected('PLATFORM_ERROR', 'free')).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  expect(await prepared(ada, { key: 'free' })).toEqual({ data: { name: 'Ada' } });
  const conflict = idempotency.afterPreparing(write({ key: 'late' }), ada, async (transaction) => {
    await build(transaction, 'half done');
    throw new ApiError('CONFLICT');
  });
  await expect(conflict).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(await prepared(ada, { key: 'late' })).toMatchObject({ status: 409 });
  expect(await boats()).toEqual(['Ada']);
});

test('work is not repeated if the response to its commit was lost', async () => {
  const deaf: Database = {
    ...database,
    transaction: async (work) => {
      const result = await database.transaction(work);
      if (!(result instanceof Object && 'data' in result)) return result;
      throw new ApiError('UNAVAILABLE');
    },
  };
  const unsure = new Idempotency({ schema: 'fleet', database: deaf, ring, responseTtlSeconds: DAY_SECONDS });
  const lost = unsure.afterPreparing(write(), ada, build);
  await expect(lost).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await prepared(ada)).toMatchObject({ status: 201 });
  expect(await boats()).toEqual(['Ada']);
});

test('if the database fails meanwhile, a repeat succeeds once it responds again', async () => {
  const proxy = await startTcpProxy(Number(new URL(testDatabase.url).port));
  const url = new URL(testDatabase.url);
  url.host = `127.0.0.1:${proxy.port}`;
  const log = await createLog({ service: 'test', level: 'silent' });
  const failing = openDatabase({ url: url.href, poolMax: CONNECTIONS, name: 'kit-test', metrics: new Metrics(), log });
  const overProxy = new Idempotency({ schema: 'fleet', database: failing, ring, responseTtlSeconds: DAY_SECONDS });
  const whileDown = async () => {
    await proxy.refuse();
    return 'Ada';
  };
  await expect(overProxy.afterPreparing(write(), whileDown, build)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  // Another process can reach the database.
  await expect(prepared(ada)).rejects.toMatchObject({ code: 'CONFLICT', retryAfter: 1 });
  await proxy.accept();
  await expect.poll(() => prepared(ada).catch(asApiError), PATIENCE).toEqual({ data: { name: 'Ada' } });
  expect(await boats()).toEqual(['Ada']);
  await failing.close();
  await proxy.close();
});

test('a claim whose commit got no response is released', async () => {
  let isLost = true;
  const deaf: Database = {
    ...database,
    transaction: async (work) => {
      const result = await database.transaction(work);
      if (!isLost) return result;
      isLost = false;
      throw new ApiError('UNAVAILABLE');
    },
  };
  const unsure = new Idempotency({ schema: 'fleet', database: deaf, ring, responseTtlSeconds: DAY_SECONDS });
  await expect(unsure.afterPreparing(write(), ada, build)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(prepared(ada)).rejects.toMatchObject({ code: 'CONFLICT', retryAfter: 1 });
  await expect.poll(() => prepared(ada).catch(asApiError), PATIENCE).toEqual({ data: { name: 'Ada' } });
});

import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { startTcpProxy } from '#test/network/tcp-proxy.ts';
import { PATIENCE } from '#test/patience.ts';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { ApiError, asApiError, type ErrorCode } from '../../errors.ts';
import { ok } from '../../http/envelope.ts';
import { SecretRing } from '../../security/keyring.ts';
import { createLog } from '../../telemetry/log.ts';
import { Metrics } from '../../telemetry/metrics.ts';
import { type Database, openDatabase, type Queryable } from '../pool.ts';
import { type Claim, Idempotency, type IdempotentWrite, StoredResponse } from './idempotency.ts';

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
  idempotency = idempotencyOn(database);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});
beforeEach(() => database.query('TRUNCATE fleet.idempotency, fleet.boats'));

const idempotencyOn = (on: Database) =>
  new Idempotency({ schema: 'fleet', database: on, ring, responseTtlSeconds: DAY_SECONDS });

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
  const lost = idempotencyOn(deaf).afterPreparing(write(), ada, build);
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
  const whileDown = async () => {
    await proxy.refuse();
    return 'Ada';
  };
  const failed = idempotencyOn(failing).afterPreparing(write(), whileDown, build);
  await expect(failed).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  // Another process can reach the database.
  await expect(prepared(ada)).rejects.toMatchObject({ code: 'CONFLICT', retryAfter: 1 });
  await proxy.accept();
  await expect.poll(() => prepared(ada).catch(asApiError), PATIENCE).toEqual({ data: { name: 'Ada' } });
  expect(await boats()).toEqual(['Ada']);
  await failing.close();
  await proxy.close();
});

/** A database whose transactions, and whose statements outside of them, can fail. It counts transactions. */
function failingDatabase() {
  const state = { queriesFail: false, transactionsFail: false, transactions: 0 };
  const failing: Database = {
    ...database,
    query: (statement, values) =>
      state.queriesFail ? Promise.reject(new ApiError('UNAVAILABLE')) : database.query(statement, values),
    transaction: (work) => {
      state.transactions++;
      return state.transactionsFail ? Promise.reject(new ApiError('UNAVAILABLE')) : database.transaction(work);
    },
  };
  return { state, failing };
}

test('a claim whose commit got no response is released, also if it is committed later', async () => {
  const { state, failing } = failingDatabase();
  const commit = Promise.withResolvers<void>();
  let committed: Promise<unknown> = Promise.resolve();
  const slow: Database = {
    ...failing,
    transaction: (work) => {
      if (state.transactions > 0) return failing.transaction(work);
      const written = Promise.withResolvers<never>();
      committed = failing.transaction(async (transaction) => {
        const result = await work(transaction);
        written.reject(new ApiError('UNAVAILABLE'));
        await commit.promise;
        return result;
      });
      return written.promise;
    },
  };
  const lost = idempotencyOn(slow).afterPreparing(write(), ada, build);
  await expect(lost).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  // By now a release was tried before the claim was committed.
  await expect.poll(() => state.transactions, PATIENCE).toBeGreaterThan(2);
  commit.resolve();
  await committed;
  await expect.poll(() => prepared(ada).catch(asApiError), PATIENCE).toEqual({ data: { name: 'Ada' } });
});

/** Claims a write whose error cannot be stored, because the database fails. */
async function claimWithUnstoredError() {
  const { state, failing } = failingDatabase();
  const first = idempotencyOn(failing);
  const claim = (await first.claim(write())) as Claim;
  state.queriesFail = state.transactionsFail = true;
  await expect(first.settleOrRetry(claim, new ApiError('NOT_APPLICABLE'))).rejects.toThrow(ApiError);
  return { state, first, claim };
}

test('an error that could not be stored is stored later, and nothing else ends the claim before', async () => {
  const { state, first, claim } = await claimWithUnstoredError();
  state.queriesFail = false;
  await expect(first.releaseOrRetry(claim)).rejects.toThrow(ApiError);
  state.transactionsFail = false;
  await expect.poll(() => prepared(ada).catch(asApiError), PATIENCE).toMatchObject({ status: 422 });
  expect(await boats()).toEqual([]);
});

test('an error that could not be stored is not stored once a repeat has taken the claim over', async () => {
  const { state, claim } = await claimWithUnstoredError();
  await database.query('UPDATE fleet.idempotency SET claimed_until = clock_timestamp()');
  const next = (await idempotency.claim(write())) as Claim;
  expect(next).toMatchObject({ id: claim.id, isRepeat: true });
  const tried = state.transactions;
  state.transactionsFail = false;
  // A claim that waits is tried again until its end has succeeded.
  await expect.poll(() => state.transactions, PATIENCE).toBeGreaterThan(tried);
  await expect(prepared(ada)).rejects.toMatchObject({ code: 'CONFLICT', retryAfter: 1 });
  await idempotency.settle(database, next, ok({ name: 'Bea' }));
  expect(await prepared(ada)).toMatchObject({ status: 201, body: expect.stringContaining('Bea') });
});

import { pino } from 'pino';
import { beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { createTestDatabase } from '#test/postgres/database.ts';
import { DatabaseTime } from '#test/postgres/database-time.ts';
import { ManualClock } from '../../clock.ts';
import { ApiError, type ErrorCode, invalidRequest } from '../../errors.ts';
import { hashJson } from '../../http/body.ts';
import { ok } from '../../http/envelope.ts';
import { SecretRing } from '../../security/keyring.ts';
import { Metrics } from '../../telemetry/metrics.ts';
import { type Database, openDatabase, type Queryable } from '../pool.ts';
import { type Claim, Idempotency, type IdempotentWrite, StoredResponse } from './idempotency.ts';

const log = pino({ level: 'silent' });
const OLD = 'the old secret, which is long enough';
const DAY_SECONDS = 24 * 3600;
let database: Database;
let time: DatabaseTime;
let clock: ManualClock;
let idempotency: Idempotency;

beforeAll(async () => {
  const testDatabase = await createTestDatabase();
  time = await DatabaseTime.control(testDatabase.url);
  database = openDatabase({ url: testDatabase.url, poolMax: 5, name: 'kit-test', metrics: new Metrics(), log });
  await database.query('CREATE SCHEMA fleet');
  await database.query(
    `CREATE TABLE fleet.idempotency (guild_id text COLLATE "C" NOT NULL, method text NOT NULL, path text NOT NULL,
       key text NOT NULL, body_hash bytea NOT NULL, status smallint, answer bytea, claim uuid, claimed_until timestamptz,
       created_at timestamptz NOT NULL, PRIMARY KEY (guild_id, method, path, key))`,
  );
  await database.query('CREATE TABLE fleet.boats (name text PRIMARY KEY)');
  return async () => {
    await database.close();
    await testDatabase.drop();
  };
});

beforeEach(async () => {
  await database.query('TRUNCATE fleet.idempotency, fleet.boats');
  clock = new ManualClock();
  await time.stopAt(clock.now());
  idempotency = new Idempotency({
    schema: 'fleet',
    database,
    ring: new SecretRing([OLD]),
    responseTtlSeconds: DAY_SECONDS,
  });
});

function write(body: unknown, own: Partial<IdempotentWrite> = {}): IdempotentWrite {
  const route = { method: 'POST', path: '/api/v1/boats', status: 201, message: 'Boat built' };
  return { guildId: '900000000000000001', ...route, key: 'k-1', bodyHash: hashJson(body), ...own };
}

const build = (name: string) => async (transaction: Queryable) => {
  await transaction.query('INSERT INTO fleet.boats VALUES ($1)', [name]);
  return ok({ name });
};

const boats = async () =>
  (await database.query<{ name: string }>('SELECT name FROM fleet.boats ORDER BY 1')).map(({ name }) => name);
const reject = (code: ErrorCode) => async (transaction: Queryable) => {
  await transaction.query("INSERT INTO fleet.boats VALUES ('half done')");
  throw new ApiError(code, { details: { why: 'this' } });
};

test('a repeat gets the first response unchanged and does nothing', async () => {
  const first = write({ name: 'Ada', crew: { a: 1, b: 2 } });
  expect(await idempotency.inTransaction(first, build('Ada'))).toEqual({ data: { name: 'Ada' } });
  const work = vi.fn<typeof reject>();
  const again = await idempotency.inTransaction(write({ crew: { b: 2, a: 1 }, name: 'Ada' }), work as never);
  expect(again).toEqual(
    new StoredResponse(201, '{"status":"success","code":201,"message":"Boat built","data":{"name":"Ada"}}'),
  );
  expect(work).not.toHaveBeenCalled();
  expect(await boats()).toEqual(['Ada']);
});

test('a repeat gets the same status and message', async () => {
  const resumed = async () => ({ data: {}, status: 200, message: 'Resumed' });
  await idempotency.inTransaction(write({}), resumed);
  expect(await idempotency.inTransaction(write({}), resumed)).toMatchObject({
    status: 200,
    body: expect.stringContaining('Resumed'),
  });
});

test('without a key nothing is stored', async () => {
  for (const name of ['a', 'b']) await idempotency.inTransaction(write({}, { key: undefined }), build(name));
  expect(await boats()).toEqual(['a', 'b']);
  expect(await database.query('SELECT 1 FROM fleet.idempotency')).toEqual([]);
  expect(await idempotency.claim(write({}, { key: undefined }))).toBeUndefined();
  await idempotency.settle(database, undefined, ok({}));
});

test('the same key with another body is CONFLICT and does nothing', async () => {
  await idempotency.inTransaction(write({ name: 'Ada' }), build('Ada'));
  const other = idempotency.inTransaction(write({ name: 'Bea' }), build('Bea'));
  await expect(other).rejects.toMatchObject({
    code: 'CONFLICT',
    retryAfter: undefined,
    message: expect.stringContaining('another body'),
  });
  expect(await boats()).toEqual(['Ada']);
});

test.each([
  ['guild', { guildId: '900000000000000002' }],
  ['method', { method: 'DELETE' }],
  ['path', { path: '/api/v1/boats/1' }],
  ['key', { key: 'k-2' }],
])('a request with another %s is another write', async (_what, own) => {
  await idempotency.inTransaction(write({}), build('Ada'));
  await idempotency.inTransaction(write({}, own), build('Bea'));
  expect(await boats()).toEqual(['Ada', 'Bea']);
});

test('of equal concurrent writes one is done; the others get Retry-After', async () => {
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const first = idempotency.inTransaction(write({}), async (transaction) => {
    entered.resolve();
    await release.promise;
    return build('Ada')(transaction);
  });
  await entered.promise;
  const others = [1, 2].map(() => idempotency.inTransaction(write({}), build('Bea')).catch((error: unknown) => error));
  const busy = expect.objectContaining({
    code: 'CONFLICT',
    retryAfter: 1,
    message: expect.stringContaining('still running'),
  });
  expect(await Promise.all(others)).toEqual([busy, busy]);
  release.resolve();
  expect(await first).toEqual({ data: { name: 'Ada' } });
  expect(await idempotency.inTransaction(write({}), build('Bea'))).toBeInstanceOf(StoredResponse);
  expect(await boats()).toEqual(['Ada']);
});

test('of twenty equal concurrent writes exactly one is done', async () => {
  const burst = Array.from({ length: 20 }, () => idempotency.inTransaction(write({}), build('Ada')));
  const results = await Promise.allSettled(burst);
  const outcomes = results.map((result) => (result.status === 'fulfilled' ? result.value : result.reason));
  const done = outcomes.filter((outcome) => !(outcome instanceof StoredResponse) && !(outcome instanceof ApiError));
  expect(done).toEqual([{ data: { name: 'Ada' } }]);
  const rejected = outcomes.filter((outcome) => outcome instanceof ApiError).map(({ code }) => code);
  expect(new Set([...rejected, 'CONFLICT'])).toEqual(new Set(['CONFLICT']));
});

test.each(['NOT_FOUND', 'CONFLICT', 'NOT_APPLICABLE'] as const)(
  '%s rolls back the work and is stored',
  async (code) => {
    const first = idempotency.inTransaction(write({}), reject(code));
    await expect(first).rejects.toMatchObject({ code, details: { why: 'this' } });
    const again = await idempotency.inTransaction(write({}), build('Ada'));
    expect(again).toBeInstanceOf(StoredResponse);
    expect(JSON.parse((again as StoredResponse).body)).toMatchObject({
      status: 'error',
      details: { code, why: 'this' },
    });
    expect(await boats()).toEqual([]);
  },
);

test('a unique violation that the work converts to CONFLICT does not break the transaction', async () => {
  await build('Ada')(database);
  const first = idempotency.inTransaction(write({}), (transaction) =>
    build('Ada')(transaction).catch(() => Promise.reject(new ApiError('CONFLICT'))),
  );
  await expect(first).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(await idempotency.inTransaction(write({}), build('Bea'))).toMatchObject({ status: 409 });
});

test.each([
  ['INVALID_REQUEST', invalidRequest([])],
  ['RATE_LIMITED', new ApiError('RATE_LIMITED')],
  ['CONFLICT with Retry-After', new ApiError('CONFLICT', { retryAfter: 60 })],
  ['GUILD_MISMATCH', new ApiError('GUILD_MISMATCH')],
  ['PLATFORM_ERROR', new ApiError('PLATFORM_ERROR')],
  ['UNAVAILABLE', new ApiError('UNAVAILABLE')],
  ['a bug', new TypeError('of ours')],
])('%s is not stored: the key may be used again with a corrected body', async (_what, error) => {
  const failing = idempotency.inTransaction(write({ name: 'wrong' }), async (transaction) => {
    await build('half done')(transaction);
    throw error;
  });
  await expect(failing).rejects.toBe(error);
  await idempotency.inTransaction(write({ name: 'Ada' }), build('Ada'));
  expect(await boats()).toEqual(['Ada']);
});

test('a response is stored for 24 hours, then the key may be used again', async () => {
  await idempotency.inTransaction(write({}), build('Ada'));
  await time.advance(24 * 3600_000 - 1);
  expect(await idempotency.inTransaction(write({}), build('Bea'))).toBeInstanceOf(StoredResponse);
  await time.advance(1);
  await idempotency.inTransaction(write({ other: 1 }), build('Cleo'));
  expect(await boats()).toEqual(['Ada', 'Cleo']);
  expect(await idempotency.inTransaction(write({ other: 1 }), build('Dora'))).toBeInstanceOf(StoredResponse);
});

const claim = (own = {}) => idempotency.claim(write({}, own));

test('a claim rejects equal writes, with the same body or another, until it is settled with a response', async () => {
  const claimed = (await claim()) as Claim;
  await expect(claim()).rejects.toMatchObject({ code: 'CONFLICT', retryAfter: 1 });
  await expect(claim({ bodyHash: hashJson({ other: 1 }) })).rejects.toMatchObject({ code: 'CONFLICT' });
  await idempotency.settle(database, claimed, ok({ name: 'Ada' }));
  expect(await claim()).toMatchObject({ status: 201, body: expect.stringContaining('Ada') });
});

test.each([
  ['NOT_APPLICABLE', true],
  ['PLATFORM_ERROR', false],
] as const)('a claim settled with %s: stored is %s', async (code, isStored) => {
  await idempotency.settle(database, (await claim()) as Claim, new ApiError(code));
  expect((await claim()) instanceof StoredResponse).toBe(isStored);
});

test('the claim of a process that died expires after 60 s, and a late settlement is ignored', async () => {
  const lost = (await claim()) as Claim;
  await time.advance(59_999);
  await expect(claim()).rejects.toMatchObject({ code: 'CONFLICT' });
  await time.advance(1);
  const next = (await claim({ bodyHash: hashJson({ corrected: 1 }) })) as Claim;
  await idempotency.settle(database, lost, ok({ name: 'too late' }));
  await idempotency.settle(database, lost, new ApiError('PLATFORM_ERROR'));
  await idempotency.settle(database, next, ok({ name: 'Bea' }));
  expect(await claim({ bodyHash: hashJson({ corrected: 1 }) })).toMatchObject({ body: expect.stringContaining('Bea') });
});

test.each([10_000, -10_000, 3_600_000, -3_600_000])(
  'a process whose clock is off by %i ms takes over no held claim, and keeps its own',
  async (step) => {
    const claimed = (await claim()) as Claim;
    const now = Date.now();
    vi.spyOn(Date, 'now').mockReturnValue(now + step);
    await expect(claim()).rejects.toMatchObject({ code: 'CONFLICT', retryAfter: 1 });
    await idempotency.settle(database, claimed, ok({ name: 'Ada' }));
    expect(await claim()).toMatchObject({ body: expect.stringContaining('Ada') });
    vi.restoreAllMocks();
  },
);

test('the same write after 60 s takes over the claim; the first request can settle it but not release it', async () => {
  const first = (await claim()) as Claim;
  expect(first.isRepeat).toBe(false);
  await time.advance(60_000);
  const next = (await claim()) as Claim;
  expect(next).toMatchObject({ id: first.id, isRepeat: true });
  await idempotency.settle(database, first, new ApiError('PLATFORM_ERROR'));
  await expect(claim()).rejects.toMatchObject({ code: 'CONFLICT' });
  await idempotency.settle(database, first, ok({ name: 'Ada' }));
  await idempotency.settle(database, next, ok({ name: 'Bea' }));
  expect(await claim()).toMatchObject({ body: expect.stringContaining('Ada') });
});

import { pino } from 'pino';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase } from '#test/postgres/database.ts';
import { DatabaseTime } from '#test/postgres/database-time.ts';
import { ok } from '../../http/envelope.ts';
import { SecretRing } from '../../security/keyring.ts';
import { Metrics } from '../../telemetry/metrics.ts';
import { type Database, openDatabase, type Queryable } from '../pool.ts';
import { Idempotency, type IdempotentWrite, StoredResponse } from './idempotency.ts';

const DAY_SECONDS = 24 * 3600;
const OLD = 'the old secret, which is long enough';
const NEW = 'the new secret, which is long enough';
const NEWEST = 'the newest secret, which is long enough';
let database: Database;
let time: DatabaseTime;

beforeAll(async () => {
  const testDatabase = await createTestDatabase();
  time = await DatabaseTime.control(testDatabase.url);
  const options = { name: 'kit-test', metrics: new Metrics(), log: pino({ level: 'silent' }) };
  database = openDatabase({ url: testDatabase.url, poolMax: 5, ...options });
  await database.query('CREATE SCHEMA fleet');
  await database.query('CREATE TABLE fleet.idempotency (LIKE members.idempotency INCLUDING ALL)');
  await database.query('CREATE TABLE fleet.boats (name text PRIMARY KEY)');
  return async () => {
    await database.close();
    await testDatabase.drop();
  };
});
beforeEach(async () => {
  await database.query('TRUNCATE fleet.idempotency, fleet.boats');
  await time.stopAt(Date.now());
});

function keeping(secrets: string[], days = 1): Idempotency {
  const ring = new SecretRing(secrets);
  return new Idempotency({ schema: 'fleet', database, ring, responseTtlSeconds: days * DAY_SECONDS });
}

function write(key = 'k-1'): IdempotentWrite {
  const route = { method: 'POST', path: '/api/v1/boats', status: 201, message: 'Boat built' };
  return { guildId: '900000000000000001', ...route, key, bodyHash: Buffer.alloc(32) };
}

const build = (name: string) => async (transaction: Queryable) => {
  await transaction.query('INSERT INTO fleet.boats VALUES ($1)', [name]);
  return ok({ name });
};

const boats = async () =>
  (await database.query<{ name: string }>('SELECT name FROM fleet.boats ORDER BY 1')).map(({ name }) => name);

test('responses are stored encrypted, and can be decrypted after a secret was rotated', async () => {
  await keeping([OLD]).inTransaction(write(), async () => ok({ token: 'a-secret-token' }));
  const [row] = await database.query<{ answer: Buffer }>('SELECT answer FROM fleet.idempotency');
  expect(row?.answer.toString('latin1')).not.toContain('a-secret-token');
  const replaced = keeping([NEW, OLD]);
  expect(await replaced.inTransaction(write(), build('x'))).toMatchObject({
    body: expect.stringContaining('a-secret-token'),
  });
});

test('a response is stored for the configured time', async () => {
  const longer = keeping([OLD], 2);
  await longer.inTransaction(write(), build('Ada'));
  await time.advance(2 * DAY_SECONDS * 1000 - 1);
  expect(await longer.inTransaction(write(), build('Bea'))).toBeInstanceOf(StoredResponse);
  await time.advance(1);
  await longer.inTransaction(write(), build('Cleo'));
  expect(await boats()).toEqual(['Ada', 'Cleo']);
});

test('a response whose secret was rotated twice gives CONFLICT, and the work is not repeated', async () => {
  await keeping([OLD]).inTransaction(write(), build('Ada'));
  const replaced = keeping([NEWEST, NEW]);
  const conflict = { code: 'CONFLICT', message: expect.stringContaining('no longer available') };
  await expect(replaced.inTransaction(write(), build('Bea'))).rejects.toMatchObject(conflict);
  const outside = replaced.afterPreparing(
    write(),
    async () => 'Cleo',
    (transaction, name) => build(name)(transaction),
  );
  await expect(outside).rejects.toMatchObject(conflict);
  expect(await boats()).toEqual(['Ada']);
  await replaced.inTransaction(write('k-2'), build('Dora'));
  expect(await boats()).toEqual(['Ada', 'Dora']);
});

test('the transaction of a repeat writes, so that its commit waits for a synchronous standby', async () => {
  const kept = keeping([OLD]);
  const locker = async () => {
    const [row] = await database.query<{ xmax: string }>('SELECT xmax::text FROM fleet.idempotency');
    return row?.xmax;
  };
  await kept.inTransaction(write(), build('Ada'));
  expect(await locker()).toBe('0');
  expect(await kept.inTransaction(write(), build('Bea'))).toBeInstanceOf(StoredResponse);
  expect(await locker()).not.toBe('0');
});

import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { ManualClock } from '../clock.ts';
import type { Database, Queryable } from './pool.ts';
import { Retention } from './retention.ts';

const log = pino({ level: 'silent' });
let testDatabase: TestDatabase;
/** Two pools with one connection each, so that a sweep can run while a row is locked. */
let database: Database;
let sweeper: Database;
let clock: ManualClock;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  [database, sweeper] = await Promise.all([openTestPool(testDatabase.url), openTestPool(testDatabase.url)]);
  await database.query('CREATE SCHEMA fleet');
  await database.query('CREATE TABLE fleet.idempotency (LIKE members.idempotency INCLUDING ALL)');
});
afterAll(async () => {
  await Promise.all([database.close(), sweeper.close()]);
  await testDatabase.drop();
});
beforeEach(async () => {
  await database.query('TRUNCATE fleet.idempotency');
  clock = new ManualClock();
});

test('retention deletes expired rows in batches, even if it fails for another table', async () => {
  const age = (seconds: number) => new Date(clock.now() - seconds * 1000);
  await database.query(
    `INSERT INTO fleet.idempotency (guild_id, method, path, key, body_hash, created_at)
     SELECT '1', 'POST', '/', n::text, '', CASE WHEN n <= 2500 THEN $1::timestamptz ELSE $2 END FROM generate_series(1, 2510) n`,
    [age(61), age(60)],
  );
  const rule = { table: 'fleet.idempotency', column: 'created_at', seconds: 60 };
  const retention = new Retention({
    database: sweeper,
    rules: [{ ...rule, table: 'fleet.nowhere' }, rule],
    clock,
    log,
  });
  await retention.sweep();
  expect(await database.query('SELECT count(*) AS count FROM fleet.idempotency')).toEqual([{ count: 10 }]);
});

test('retention skips locked rows instead of waiting for them', async () => {
  await database.query(
    `INSERT INTO fleet.idempotency (guild_id, method, path, key, body_hash, created_at)
     SELECT '1', 'POST', '/', key, '', $1 FROM unnest(ARRAY['used', 'free']) key`,
    [new Date(clock.now())],
  );
  clock.advance(1_001);
  const rule = { table: 'fleet.idempotency', column: 'created_at', seconds: 1 };
  const keys = () => sweeper.query('SELECT key FROM fleet.idempotency');
  await database.transaction(async (transaction) => {
    await transaction.query("SELECT 1 FROM fleet.idempotency WHERE key = 'used' FOR UPDATE");
    await new Retention({ database: sweeper, rules: [rule], clock, log }).sweep();
    expect(await keys()).toEqual([{ key: 'used' }]);
  });
});

test('retention sweeps once a minute, one sweep at a time, and a stop waits for it', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const sweeps: PromiseWithResolvers<never[]>[] = [];
  const slow: Queryable = {
    query: () => {
      const sweep = Promise.withResolvers<never[]>();
      sweeps.push(sweep);
      return sweep.promise;
    },
  };
  const retention = new Retention({ database: slow, rules: [{ table: 't', column: 'c', seconds: 1 }], clock, log });
  await retention.start();
  await vi.advanceTimersByTimeAsync(180_000);
  expect(sweeps).toHaveLength(1);
  const drained = vi.fn<() => void>();
  const draining = retention.drain().then(drained);
  expect(drained).not.toHaveBeenCalled();
  sweeps[0]?.resolve([]);
  await draining;
  vi.useRealTimers();
});

test('retention deletes fewer rows at once if a batch takes longer than the statement timeout', async () => {
  await database.query(`CREATE FUNCTION fleet.slow() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF (SELECT count(*) FROM removed) > 200 THEN RAISE EXCEPTION 'too slow' USING ERRCODE = 'query_canceled'; END IF;
      RETURN NULL;
    END $$`);
  await database.query(`CREATE TRIGGER slow AFTER DELETE ON fleet.idempotency REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION fleet.slow()`);
  await database.query(
    `INSERT INTO fleet.idempotency (guild_id, method, path, key, body_hash, created_at)
     SELECT '1', 'POST', '/', n::text, '', $1 FROM generate_series(1, 300) n`,
    [new Date(clock.now())],
  );
  clock.advance(1_001);
  const rule = { table: 'fleet.idempotency', column: 'created_at', seconds: 1 };
  await new Retention({ database: sweeper, rules: [rule], clock, log }).sweep();
  expect(await database.query('SELECT count(*) AS count FROM fleet.idempotency')).toEqual([{ count: 0 }]);
  await database.query('DROP FUNCTION fleet.slow CASCADE');
});

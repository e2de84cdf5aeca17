import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { ManualClock } from '../clock.ts';
import { DatabaseClock } from './clock.ts';
import type { Database } from './pool.ts';

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
});
afterAll(async () => {
  vi.useRealTimers();
  await database.close();
  await testDatabase.drop();
});

test("the database clock follows the database's time, independently of this process's clock, and ignores slow samples", async () => {
  const local = new ManualClock(Date.UTC(2020, 0, 1));
  const clock = new DatabaseClock({ database, local });
  await clock.start();
  expect(Math.abs(clock.now() - Date.now())).toBeLessThan(1_000);
  // The clock of this process is changed.
  local.advance(3_600_000);
  expect(Math.abs(clock.now() - Date.now())).toBeLessThan(1_000);
  await clock.stop();

  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  let delay = 0;
  let now = 5_000;
  let monotonic = 77;
  const sampled = {
    query: async <Result extends object>() => {
      monotonic += delay;
      return [{ now: new Date(now) }] as Result[];
    },
  };
  const slow = new DatabaseClock({ database: sampled, local, monotonicNow: () => monotonic });
  await slow.start();
  expect(slow.now()).toBe(5_000);
  [delay, now] = [201, 9_000];
  await vi.advanceTimersByTimeAsync(30_000);
  expect(slow.now()).toBe(5_201);
  [delay, now] = [100, 9_000];
  await vi.advanceTimersByTimeAsync(30_000);
  expect(slow.now()).toBe(9_050);
  await slow.stop();
  vi.useRealTimers();
});

test('the start of the clock waits for a database that does not respond yet, and ends when it is stopped', async () => {
  const pool = await openTestPool(testDatabase.url);
  await pool.close();
  let responding: Database = pool;
  const query: Database['query'] = (...given) => responding.query(...given);
  const clock = new DatabaseClock({ database: { query }, local: new ManualClock(Date.UTC(2020, 0, 1)) });
  const started = clock.start();
  responding = database;
  await started;
  expect(Math.abs(clock.now() - Date.now())).toBeLessThan(1_000);
  await clock.stop();

  const waiting = new DatabaseClock({ database: pool, local: new ManualClock(0) });
  const interrupted = waiting.start();
  await waiting.stop();
  await expect(interrupted).rejects.toThrow('aborted');
});

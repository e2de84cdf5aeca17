import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Database } from '#kit/postgres/pool.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { DatabaseTime } from '#test/postgres/database-time.ts';
import { acquireLock, releaseLock } from '../store/roles.ts';
import { MemberBusy, MemberLocks } from './member-locks.ts';

let testDatabase: TestDatabase;
let time: DatabaseTime;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  time = await DatabaseTime.control(testDatabase.url);
  database = await openTestPool(testDatabase.url);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

let members = 0;
const newMember = () => ({ guildId: '900000000000000001', chatId: String(920000000000000000n + BigInt(++members)) });
const locks = () => new MemberLocks(database, randomUUID);
const soon = () => performance.now() + 50;

/** The remaining milliseconds of the lock's lease. */
async function leaseOf({ chatId }: { chatId: string }): Promise<number> {
  const [row] = await database.query<{ ms: number }>(
    `SELECT (extract(epoch FROM held_until - clock_timestamp()) * 1000)::float8 AS ms FROM members.member_locks
     WHERE chat_id = $1`,
    [chatId],
  );
  return row?.ms ?? 0;
}

test('a holder keeps its lock while it works, even for longer than a lease', async () => {
  const member = newMember();
  await locks().hold(member, soon(), async () => {
    for (let round = 0; round < 2; round++) {
      await time.advance(4_000);
      await expect.poll(() => leaseOf(member)).toBeGreaterThan(5_000);
    }
    await expect(locks().hold(member, soon(), async () => 'held twice')).rejects.toThrow(MemberBusy);
  });
  expect(await locks().hold(member, soon(), async () => 'free')).toBe('free');
}, 60_000);

test('a renewed lease is longer than a platform call, but outlasts a killed holder only by seconds', async () => {
  const member = newMember();
  await locks().hold(member, soon(), async (lock) => {
    await time.advance(3_000);
    await lock.renew();
    expect(await leaseOf(member)).toBeGreaterThan(5_000);
    expect(await leaseOf(member)).toBeLessThan(8_000);
  });
});

test('renewing a lost lock fails, so that the next change is not made', async () => {
  const member = newMember();
  const other = randomUUID();
  const loser = locks().hold(member, soon(), async (lock) => {
    await time.advance(8_000);
    expect(await acquireLock(database, member, other, 6_000)).toBe(true);
    await lock.renew();
    return 'changed';
  });
  await expect(loser).rejects.toThrow(MemberBusy);
  await expect(locks().hold(member, soon(), async () => 'held twice')).rejects.toThrow(MemberBusy);
  await releaseLock(database, member, other);
  expect(await locks().hold(member, soon(), async () => 'free')).toBe('free');
});

test('a process whose clock jumps does not take over a live lock', async () => {
  const member = newMember();
  await locks().hold(member, soon(), async () => {
    for (const step of [10_000, -10_000, 3_600_000]) {
      vi.useFakeTimers({ now: Date.now() + step, toFake: ['Date'] });
      const attempt = locks().hold(member, soon(), async () => 'held twice');
      await expect(attempt).rejects.toThrow(MemberBusy);
      vi.useRealTimers();
    }
  });
  expect(await locks().hold(member, soon(), async () => 'free')).toBe('free');
});

import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Database } from '#kit/postgres/pool.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { DatabaseTime } from '#test/postgres/database-time.ts';
import { releaseLock, takeLock } from '../store/roles.ts';
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

/** How long the lock is held if nothing more is heard of its holder. */
async function leaseOf({ chatId }: { chatId: string }): Promise<number> {
  const [row] = await database.query<{ ms: number }>(
    `SELECT (extract(epoch FROM held_until - clock_timestamp()) * 1000)::float8 AS ms FROM members.member_locks
     WHERE chat_id = $1`,
    [chatId],
  );
  return row?.ms ?? 0;
}

test('a holder that works for longer than a lease keeps its lock', async () => {
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

test('a lock outlasts a call of a platform that began right after it was kept, and a dead holder by seconds only', async () => {
  const member = newMember();
  await locks().hold(member, soon(), async (lock) => {
    await time.advance(3_000);
    await lock.keep();
    expect(await leaseOf(member)).toBeGreaterThan(5_000);
    expect(await leaseOf(member)).toBeLessThan(8_000);
  });
});

test('who has lost the lock is told so before the next change', async () => {
  const member = newMember();
  const thief = randomUUID();
  const losing = locks().hold(member, soon(), async (lock) => {
    await time.advance(8_000);
    expect(await takeLock(database, member, thief, 6_000)).toBe(true);
    await lock.keep();
    return 'changed';
  });
  await expect(losing).rejects.toThrow(MemberBusy);
  await expect(locks().hold(member, soon(), async () => 'taken')).rejects.toThrow(MemberBusy);
  await releaseLock(database, member, thief);
  expect(await locks().hold(member, soon(), async () => 'free')).toBe('free');
});

test('a process whose clock is stepped takes over no live lock', async () => {
  const member = newMember();
  await locks().hold(member, soon(), async () => {
    for (const step of [10_000, -10_000, 3_600_000]) {
      vi.useFakeTimers({ now: Date.now() + step, toFake: ['Date'] });
      const taking = locks().hold(member, soon(), async () => 'held twice');
      await expect(taking).rejects.toThrow(MemberBusy);
      vi.useRealTimers();
    }
  });
  expect(await locks().hold(member, soon(), async () => 'free')).toBe('free');
});

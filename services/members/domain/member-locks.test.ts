import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import type { Database } from '#kit/postgres.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/database.ts';
import { releaseLock, takeLock } from '../store/roles.ts';
import { MemberBusy, MemberLocks } from './member-locks.ts';

const clock = new ManualClock(Date.UTC(2026, 0, 1));
let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

let members = 0;
const newMember = () => ({ guildId: '900000000000000001', chatId: String(920000000000000000n + BigInt(++members)) });
const locks = () => new MemberLocks(database, clock, randomUUID);
const soon = () => performance.now() + 50;

/** How long the lock is held if nothing more is heard of its holder. */
async function leaseOf({ chatId }: { chatId: string }): Promise<number> {
  const [row] = await database.query<{ until: Date }>(
    'SELECT held_until AS until FROM members.member_locks WHERE chat_id = $1',
    [chatId],
  );
  return (row?.until.getTime() ?? 0) - clock.now();
}

test('a holder that works for longer than a lease keeps its lock', async () => {
  const member = newMember();
  await locks().hold(member, soon(), async () => {
    for (let round = 0; round < 2; round++) {
      clock.advance(4_000);
      await expect.poll(() => leaseOf(member)).toBeGreaterThan(5_000);
    }
    await expect(locks().hold(member, soon(), async () => 'held twice')).rejects.toThrow(MemberBusy);
  });
  expect(await locks().hold(member, soon(), async () => 'free')).toBe('free');
}, 60_000);

test('a lock outlasts a call of a platform that began right after it was kept, and a dead holder by seconds only', async () => {
  const member = newMember();
  await locks().hold(member, soon(), async (lock) => {
    clock.advance(3_000);
    await lock.keep();
    expect(await leaseOf(member)).toBeGreaterThan(5_000);
    expect(await leaseOf(member)).toBeLessThan(8_000);
  });
});

test('who has lost the lock is told so before the next change', async () => {
  const member = newMember();
  const thief = randomUUID();
  const losing = locks().hold(member, soon(), async (lock) => {
    clock.advance(8_000);
    const now = clock.now();
    expect(await takeLock(database, member, thief, new Date(now), new Date(now + 6_000))).toBe(true);
    await lock.keep();
    return 'changed';
  });
  await expect(losing).rejects.toThrow(MemberBusy);
  await expect(locks().hold(member, soon(), async () => 'taken')).rejects.toThrow(MemberBusy);
  await releaseLock(database, member, thief);
  expect(await locks().hold(member, soon(), async () => 'free')).toBe('free');
});

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '#kit/postgres/pool.ts';
import { openTestPool } from '#test/postgres/database.ts';
import type { ServiceResponse } from '#test/system/signed-calls.ts';
import { MAX_OF_GUILD } from './domain/command-reads.ts';
import { ActivityFixture, newGuild } from './fixture.ts';

const fixture = new ActivityFixture();
let locking: Database;
beforeAll(async () => {
  await fixture.start();
  locking = await openTestPool(fixture.testDatabase.url);
});
afterAll(async () => {
  await locking.close();
  await fixture.stop();
});

/** Runs `work` while reads of commands do not end. */
async function whileReadsHang(work: () => Promise<void>): Promise<void> {
  await locking.transaction(async (transaction) => {
    await transaction.query('LOCK TABLE activity.commands IN ACCESS EXCLUSIVE MODE');
    await work();
  });
}

/** The number of reads of commands that PostgreSQL is executing. */
async function executing(): Promise<number | undefined> {
  const [row] = await fixture.database.query<{ reads: number }>(
    `SELECT count(*)::int AS reads FROM pg_stat_activity
     WHERE wait_event_type = 'Lock' AND query LIKE '%AS "commandId", place AS sequence%' AND datname = current_database()`,
  );
  return row?.reads;
}

const list = (guildId: string) => fixture.get(`/guilds/${guildId}/commands`, { guildId });
const statusesOf = async (responses: Promise<ServiceResponse>[]) =>
  (await Promise.all(responses)).map(({ status }) => status);

describe('while reads of commands are slow', () => {
  let guildId: string;
  beforeEach(() => {
    guildId = newGuild();
  });

  test('a guild uses one database connection for them, all guilds use two, and other requests are answered', async () => {
    const reads: Promise<ServiceResponse>[] = [];
    await whileReadsHang(async () => {
      for (let count = 0; count < MAX_OF_GUILD; count++) reads.push(list(guildId));
      await expect.poll(executing).toBe(1);
      for (const other of [newGuild(), newGuild(), newGuild()]) reads.push(list(other));
      await expect.poll(executing).toBe(2);
      const others = Array.from({ length: 20 }, () => fixture.get(`/guilds/${guildId}/servers`, { guildId }));
      expect(await statusesOf(others)).toEqual(others.map(() => 200));
      expect(await executing()).toBe(2);
    });
    expect(await statusesOf(reads)).toEqual(reads.map(() => 200));
  });

  test(`more than ${MAX_OF_GUILD} waiting reads of a guild get 503 with Retry-After, those of others do not`, async () => {
    const reads: Promise<ServiceResponse>[] = [];
    await whileReadsHang(async () => {
      for (let count = 0; count < MAX_OF_GUILD; count++) reads.push(list(guildId));
      await expect.poll(executing).toBe(1);
      const rejected = await list(guildId);
      expect([rejected.status, rejected.headers.get('retry-after')]).toEqual([503, '1']);
      reads.push(list(newGuild()));
      await expect.poll(executing).toBe(2);
    });
    expect(await statusesOf(reads)).toEqual(reads.map(() => 200));
    expect((await list(guildId)).status).toBe(200);
  });

  test('a read that takes too long gets 503, and later reads succeed', async () => {
    await whileReadsHang(async () => {
      expect((await list(guildId)).status).toBe(503);
    });
    const later = Array.from({ length: MAX_OF_GUILD }, () => list(guildId));
    expect(await statusesOf(later)).toEqual(later.map(() => 200));
  });
});

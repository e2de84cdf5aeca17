import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '#kit/postgres/pool.ts';
import { openTestPool } from '#test/postgres/database.ts';
import type { ServiceResponse } from '#test/system/signed-calls.ts';
import { CommandReads, MAX_OF_GUILD } from './domain/command-reads.ts';
import { ActivityFixture, newGuild } from './fixture.ts';

const fixture = new ActivityFixture();
let locking: Database;
let reading: Database;
beforeAll(async () => {
  await fixture.start();
  locking = await openTestPool(fixture.testDatabase.url);
  reading = await openTestPool(fixture.testDatabase.url);
});
afterAll(async () => {
  await Promise.all([locking.close(), reading.close()]);
  await fixture.stop();
});

/** Runs `work` while statements that read a table do not end. */
async function whileLocked(table: string, work: () => Promise<void>): Promise<void> {
  await locking.transaction(async (transaction) => {
    await transaction.query(`LOCK TABLE activity.${table} IN ACCESS EXCLUSIVE MODE`);
    await work();
  });
}

/** Runs `work` while reads of commands do not end. */
const whileReadsHang = (work: () => Promise<void>) => whileLocked('commands', work);

/** The number of statements with this text that wait for a lock in PostgreSQL. */
async function waiting(text: string): Promise<number | undefined> {
  const [row] = await fixture.database.query<{ reads: number }>(
    `SELECT count(*)::int AS reads FROM pg_stat_activity
     WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%' AND datname = current_database()`,
    [text],
  );
  return row?.reads;
}

/** The number of reads of commands that PostgreSQL is executing. */
const executing = () => waiting('AS "commandId", place AS sequence');
/** The number of reads of the servers of a command that PostgreSQL is executing. */
const executingServers = () => waiting('admitted_place < place');

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
    const later = () => statusesOf(Array.from({ length: MAX_OF_GUILD }, () => list(guildId)));
    // The slot of the first read is free when PostgreSQL has ended it, which may be after its response.
    await expect.poll(later).toEqual(Array.from({ length: MAX_OF_GUILD }, () => 200));
  });

  test('a command and its servers are read in one turn of the guild, so that one deadline limits both reads', async () => {
    await fixture.beat('a', {}, { guildId });
    const { commandIds } = await fixture.enqueue({ guildId });
    const [commandId = ''] = commandIds;
    const reads = new CommandReads({ database: reading, clock: fixture.clock });
    let found: ReturnType<CommandReads['readWithServers']> | undefined;
    let listing: Promise<void> | undefined;
    let isListed = false;
    await whileLocked('servers', async () => {
      found = reads.readWithServers(guildId, commandId, { after: '', limit: 10 });
      listing = (async () => {
        await reads.list(guildId, { before: undefined, since: undefined, limit: 10 });
        isListed = true;
      })();
      await expect.poll(executingServers).toBe(1);
      // Otherwise the next read of the guild would have come between the two, and each of them could wait for five seconds.
      expect(isListed).toBe(false);
    });
    expect(await found).toMatchObject({ command: { commandId }, servers: [{ serverId: 'a' }] });
    await listing;
  });
});

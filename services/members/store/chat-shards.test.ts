import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Database } from '#kit/postgres/pool.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { addShards, claimShard, findShardCount, type OwnedShard, releaseShard } from './chat-shards.ts';

const LEASE_MS = 10_000;
const HOLDER = randomUUID();

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
});
beforeEach(() => database.query('DELETE FROM members.chat_shards'));
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

/** Acquires all shards of a start with this number of shards. */
async function connect(shardCount: number): Promise<OwnedShard[]> {
  await addShards(database, shardCount);
  const shards: OwnedShard[] = [];
  for (let shard = 0; shard < shardCount; shard++) {
    const owned = await claimShard(database, shardCount, HOLDER, LEASE_MS);
    if (owned) shards.push(owned);
  }
  return shards;
}
const release = async (shards: readonly OwnedShard[]) => {
  for (const shard of shards) await releaseShard(database, shard, HOLDER);
};

test('the number of shards is that of the last start, also if it was lower before a clean stop', async () => {
  expect(await findShardCount(database)).toBeUndefined();
  for (const shardCount of [2, 4, 1]) {
    const shards = await connect(shardCount);
    expect([shards.length, await findShardCount(database)]).toEqual([shardCount, shardCount]);
    await release(shards);
    expect(await findShardCount(database)).toBe(shardCount);
  }
});

test('the release of shards of an old number, after those of a new one were acquired, does not bring the old one back', async () => {
  const old = await connect(4);
  const updated = await connect(2);
  await release(old);
  expect(await findShardCount(database)).toBe(2);
  await release(updated);
  expect(await findShardCount(database)).toBe(2);
});

test('a shard that was given away can be acquired at once', async () => {
  await release(await connect(1));
  expect(await claimShard(database, 1, randomUUID(), LEASE_MS)).toMatchObject({ shardId: 0 });
});

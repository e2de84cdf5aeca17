import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { readApiKey } from '#kit/security/api-key.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { createKey, startTestAuth, type TestAuth, verifyKeys } from '#test/system/auth.ts';
import { selectChanges } from '../store/keys.ts';
import { MAX_ROTATED_SECRETS } from './key.ts';

const WEEK = 604_800;
const clock = new ManualClock();
let testDatabase: TestDatabase;
let database: Database;
let auth: TestAuth;
let lastGuild = 900000000000000000n;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  auth = await startTestAuth({ databaseUrl: testDatabase.url, clock });
});

afterAll(async () => {
  await auth.stop();
  await database.close();
  await testDatabase.drop();
});

const newKey = () => createKey(auth, { guildId: String(++lastGuild) });
const rotate = (keyId: string, graceSeconds: number) => auth.admin.rotateKey({ keyId, graceSeconds, actor: 'ada' });
const hashOf = (secret: string) => readApiKey(secret)?.hash.toString('hex');

/** The hashes that gateways receive with a change of the first key of a guild. */
async function sentHashes(guildId: string): Promise<string[]> {
  const [change] = await selectChanges(database, guildId, [1]);
  return (change?.hashes ?? []).map((hash) => hash.toString('hex'));
}

test('of ten concurrent rotations with a grace period exactly five succeed, and all their secrets work', async () => {
  const { key, secret } = await newKey();
  const results = await Promise.allSettled(Array.from({ length: 10 }, () => rotate(key.id, WEEK)));
  const rotated = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.secret] : []));
  expect(rotated).toHaveLength(MAX_ROTATED_SECRETS);
  const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  const rejection = { code: 'CONFLICT', message: expect.stringContaining('grace period of 0') };
  expect(reasons).toMatchObject(Array.from({ length: 5 }, () => rejection));
  const grants = await verifyKeys(auth, secret, ...rotated);
  expect(grants.map((grant) => grant?.keyId)).toEqual(Array.from({ length: 6 }, () => key.id));
});

test('a key with the maximum number of rotated secrets can be rotated without a grace period, and again when one ended', async () => {
  const { key, secret } = await newKey();
  const first = await rotate(key.id, 60);
  for (let n = 2; n <= MAX_ROTATED_SECRETS; n++) await rotate(key.id, WEEK);
  await expect(rotate(key.id, 1)).rejects.toMatchObject({ code: 'CONFLICT' });
  const replaced = await rotate(key.id, 0);
  const grants = await verifyKeys(auth, secret, first.secret, replaced.secret);
  expect(grants.map((grant) => grant?.keyId)).toEqual([key.id, key.id, key.id]);
  await expect(rotate(key.id, 1)).rejects.toMatchObject({ code: 'CONFLICT' });
  clock.advance(60_000);
  await rotate(key.id, 1);
});

test('a change sends the hashes of secrets that stopped working less than a minute before it, and of no older ones', async () => {
  const { key, secret } = await newKey();
  const rotated = await rotate(key.id, 0);
  expect(new Set(await sentHashes(key.guildId))).toEqual(new Set([hashOf(secret), hashOf(rotated.secret)]));
  clock.advance(59_000);
  await auth.admin.updateKey({ keyId: key.id, name: 'still sent', actor: 'ada' });
  expect(await sentHashes(key.guildId)).toHaveLength(2);
  clock.advance(1_000);
  await auth.admin.updateKey({ keyId: key.id, name: 'not sent', actor: 'ada' });
  expect(await sentHashes(key.guildId)).toEqual([hashOf(rotated.secret)]);
});

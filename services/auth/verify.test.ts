import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock, unixSeconds } from '#kit/clock.ts';
import { readApiKey } from '#kit/security/api-key.ts';
import type { Key } from '#proto/gen/guild/auth/v1/admin.ts';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { createKey, startTestAuth, type TestAuth, verifyKeys } from '#test/system/auth.ts';

const clock = new ManualClock();
let database: TestDatabase;
let service: TestAuth;
let lastGuild = 900000000000000000n;

beforeAll(async () => {
  database = await createTestDatabase();
  service = await startTestAuth({ databaseUrl: database.url, clock });
});

afterAll(async () => {
  await service.stop();
  await database.drop();
});

const newGuild = () => String(++lastGuild);
const now = () => unixSeconds(clock.now());

async function list(guildId: string): Promise<Key[]> {
  return (await service.admin.listKeys({ guildId, limit: 0, cursor: '' })).keys;
}

test('each rotated secret works until its own grace period ends, and the key keeps its ID and settings', async () => {
  const guildId = newGuild();
  const { key, secret: first } = await createKey(service, { guildId, name: 'Servers', rateLimit: 7 });
  const rotate = (graceSeconds: number) => service.admin.rotateKey({ keyId: key.id, graceSeconds, actor: 'ada' });
  const { key: rotated, secret: second } = await rotate(100);
  expect(rotated).toEqual({ ...key, prefix: readApiKey(second)?.prefix, rotatedUntil: now() + 100 });
  expect(rotated?.prefix).not.toBe(key.prefix);
  const { secret: third } = await rotate(50);
  expect(await verifyKeys(service, first, second, third)).toMatchObject([
    { keyId: key.id, validUntil: now() + 100, prefix: key.prefix, version: 3 },
    { keyId: key.id, validUntil: now() + 50 },
    { keyId: key.id, validUntil: 0 },
  ]);
  clock.advance(50_000);
  expect((await verifyKeys(service, first, second, third)).map(Boolean)).toEqual([true, false, true]);
  clock.advance(50_000);
  expect((await verifyKeys(service, first, second, third)).map(Boolean)).toEqual([false, false, true]);
  expect((await list(guildId))[0]?.rotatedUntil).toBeUndefined();
  const { secret: fourth } = await rotate(0);
  expect((await verifyKeys(service, third, fourth)).map(Boolean)).toEqual([false, true]);
  await Promise.all(Array.from({ length: 9 }, () => createKey(service, { guildId })));
  expect((await rotate(604_800)).key?.rotatedUntil).toBe(now() + 604_800);
});

test('a rotation deletes secrets whose grace period ended more than an hour ago', async () => {
  const { key, secret } = await createKey(service, { guildId: newGuild() });
  const rotate = () => service.admin.rotateKey({ keyId: key.id, graceSeconds: 0, actor: 'ada' });
  await rotate();
  clock.advance(3_700_000);
  await rotate();
  const hashes = await databaseRows<{ hash: Buffer }>(
    database.url,
    'SELECT hash FROM auth.key_secrets WHERE guild_id = $1',
    [key.guildId],
  );
  expect(hashes).toHaveLength(2);
  expect(hashes.some(({ hash }) => readApiKey(secret)?.hash.equals(hash))).toBe(false);
});

test('a revoked key and its rotated secrets are unknown; revoking it again succeeds and changes nothing', async () => {
  const guildId = newGuild();
  const { key, secret } = await createKey(service, { guildId });
  const { secret: second } = await service.admin.rotateKey({ keyId: key.id, graceSeconds: 60, actor: 'ada' });
  const revokedAt = now();
  const revoked = await service.admin.revokeKey({ keyId: key.id, actor: 'bruno' });
  expect(revoked.key).toMatchObject({ id: key.id, revokedAt });
  expect(revoked.key?.rotatedUntil).toBeUndefined();
  expect(await verifyKeys(service, secret, second)).toEqual([undefined, undefined]);
  clock.advance(5_000);
  expect((await service.admin.revokeKey({ keyId: key.id, actor: 'ada' })).key).toMatchObject({ revokedAt });
  expect(
    (await service.admin.listAudit({ guildId, limit: 0, cursor: '', isInstallation: false })).entries.map(
      (entry) => entry.action,
    ),
  ).toEqual(['revoke', 'rotate', 'create']);
  const rotating = service.admin.rotateKey({ keyId: key.id, graceSeconds: 0, actor: 'ada' });
  await expect(rotating).rejects.toMatchObject({ code: 'CONFLICT' });
  const renaming = service.admin.updateKey({ keyId: key.id, name: 'again', actor: 'ada' });
  await expect(renaming).rejects.toMatchObject({ code: 'CONFLICT' });
});

test('revoking all keys of a guild does not affect other guilds', async () => {
  const [guildId, other] = [newGuild(), newGuild()];
  const made = await Promise.all(
    [guildId, guildId, guildId, other].map((guild) => createKey(service, { guildId: guild })),
  );
  await service.admin.revokeKey({ keyId: `${guildId}-2`, actor: 'ada' });
  const { keys } = await service.admin.revokeGuildKeys({ guildId, actor: 'bruno' });
  expect(keys.map((key) => key.id)).toEqual([`${guildId}-3`, `${guildId}-1`]);
  const grants = await verifyKeys(service, ...made.map(({ secret }) => secret));
  expect(grants.map(Boolean)).toEqual([false, false, false, true]);
  expect((await service.admin.revokeGuildKeys({ guildId, actor: 'bruno' })).keys).toEqual([]);
});

test('results are in the order of the hashes, and the grant of an expired key contains its expiry', async () => {
  const expiring = await createKey(service, { guildId: newGuild(), expiresAt: now() + 1 });
  const revoked = await createKey(service, { guildId: newGuild() });
  const good = await createKey(service, { guildId: newGuild() });
  await service.admin.revokeKey({ keyId: revoked.key.id, actor: 'ada' });
  clock.advance(1_000);
  const secrets = [good, revoked, expiring, good, revoked].map(({ secret }) => secret);
  const grants = await verifyKeys(service, ...secrets);
  expect(grants.map((grant) => grant?.keyId)).toEqual([
    good.key.id,
    undefined,
    expiring.key.id,
    good.key.id,
    undefined,
  ]);
  expect(grants[2]?.expiresAt).toBe(now());
  const hash = readApiKey(good.secret)?.hash as Buffer;
  const elsewhere = await service.auth.verify({ keys: [{ guildId: newGuild(), hash }] });
  expect(elsewhere.results).toEqual([{ grant: undefined, isUnavailable: false }]);
  expect((await service.auth.verify({ keys: [] })).results).toEqual([]);
  const sixtyFive = Array.from({ length: 65 }, () => ({ guildId: good.key.guildId, hash }));
  await expect(service.auth.verify({ keys: sixtyFive })).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
});

test('the time of last use only moves forward, by at least a minute, even with concurrent reports', async () => {
  const guildId = newGuild();
  const made = await Promise.all(Array.from({ length: 5 }, () => createKey(service, { guildId })));
  clock.advance(1_000_000);
  const uses = (usedAt: number) => made.map(({ key }) => ({ guildId, keyId: key.id, usedAt }));
  await Promise.all([180, 540, 61, 420].map((ago) => service.auth.recordUse({ uses: uses(now() - ago).toReversed() })));
  const lastUses = async () => (await list(guildId)).map((key) => key.lastUsedAt);
  expect(await lastUses()).toEqual(Array(5).fill(now() - 61));
  await service.auth.recordUse({ uses: uses(now() - 2) });
  expect(await lastUses()).toEqual(Array(5).fill(now() - 61));
  await service.auth.recordUse({ uses: uses(now() + 500) });
  expect(await lastUses()).toEqual(Array(5).fill(now()));
  expect(await verifyKeys(service, made[0]?.secret ?? '')).toMatchObject([{ version: 1 }]);
});

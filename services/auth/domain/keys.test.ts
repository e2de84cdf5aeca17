import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock, unixSeconds } from '#kit/clock.ts';
import type { ApiError } from '#kit/errors.ts';
import { type Key, KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { connect } from '#test/network/grpc.ts';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { createKey, INTERNAL_SECRET, startTestAuth, type TestAuth, verifyKeys } from '#test/system/auth.ts';

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

async function audit(guildId: string) {
  const { entries } = await service.admin.listAudit({ guildId, limit: 0, cursor: '', isInstallation: false });
  return entries.map(({ action, keyId, actor, details }) => ({ action, keyId, actor, details: JSON.parse(details) }));
}

async function errorOf(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown as ApiError,
  );
  if (!error) throw new Error('the call succeeded');
  return error;
}

test('a new key is verified by its hash, and the grant contains its settings', async () => {
  const guildId = newGuild();
  const expiresAt = now() + 60;
  const { key, secret } = await createKey(service, {
    guildId,
    name: 'Game servers',
    scopes: ['server:write', 'lookup:read', 'server:write'],
    ipAllowlist: ['203.0.113.9', '10.1.2.3/8', '2001:DB8::1', '::ffff:192.0.2.1'],
    rateLimit: 600,
    expiresAt,
  });
  expect(secret).toMatch(new RegExp(`^service_${guildId}_[0-9A-Za-z]{38}$`));
  const settings = {
    scopes: ['lookup:read', 'server:write'],
    ipAllowlist: ['203.0.113.9', '10.0.0.0/8', '2001:db8::1', '192.0.2.1'],
    rateLimit: 600,
    expiresAt,
  };
  const prefix = secret.slice(0, `service_${guildId}_`.length + 6);
  const common = { guildId, prefix, legacy: false, ...settings };
  expect(key).toMatchObject({ id: `${guildId}-1`, name: 'Game servers', createdAt: now(), ...common });
  expect(await verifyKeys(service, secret)).toEqual([{ keyId: key.id, ...common, validUntil: 0, version: 1 }]);
  expect(await list(guildId)).toEqual([key]);
});

test('a legacy key becomes an ordinary key when it is given scopes', async () => {
  const { key, secret } = await createKey(service, { guildId: newGuild(), legacy: true, scopes: [] });
  expect(await verifyKeys(service, secret)).toMatchObject([{ legacy: true, scopes: [] }]);
  await service.admin.updateKey({ keyId: key.id, scopes: { values: ['members:read'] }, actor: 'ada' });
  expect(await verifyKeys(service, secret)).toMatchObject([{ legacy: false, scopes: ['members:read'], version: 2 }]);
});

test('of 14 concurrent creations exactly ten succeed', async () => {
  const guildId = newGuild();
  const results = await Promise.allSettled(Array.from({ length: 14 }, () => createKey(service, { guildId })));
  const rejected = results.filter((result) => result.status === 'rejected');
  expect(rejected.map(({ reason }) => (reason as ApiError).code)).toEqual(Array(4).fill('CONFLICT'));
  const keys = await list(guildId);
  expect(keys.map((key) => key.id)).toEqual(Array.from({ length: 10 }, (_, index) => `${guildId}-${10 - index}`));
  expect(await audit(guildId)).toHaveLength(10);
});

test('revoking or expiry of a key allows another one, in the same guild only', async () => {
  const guildId = newGuild();
  const [first] = await Promise.all(
    Array.from({ length: 10 }, () => createKey(service, { guildId, expiresAt: now() + 10 })),
  );
  await expect(createKey(service, { guildId })).rejects.toMatchObject({ code: 'CONFLICT' });
  await expect(createKey(service, { guildId: newGuild() })).resolves.toBeDefined();
  await service.admin.revokeKey({ keyId: first?.key.id ?? '', actor: 'ada' });
  await createKey(service, { guildId });
  await expect(createKey(service, { guildId })).rejects.toMatchObject({ code: 'CONFLICT' });
  clock.advance(10_000);
  await Promise.all(Array.from({ length: 9 }, () => createKey(service, { guildId })));
  await expect(createKey(service, { guildId })).rejects.toMatchObject({ code: 'CONFLICT' });
});

test('an update cannot make an expired key the eleventh active one, even concurrently with a creation', async () => {
  const guildId = newGuild();
  const { key } = await createKey(service, { guildId, expiresAt: now() + 10 });
  clock.advance(10_000);
  await Promise.all(Array.from({ length: 9 }, () => createKey(service, { guildId })));
  const revive = () => service.admin.updateKey({ keyId: key.id, expiresAt: 0, actor: 'ada' });
  const results = await Promise.allSettled([revive(), createKey(service, { guildId })]);
  expect(results.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected']);
  const active = (await list(guildId)).filter((one) => !one.expiresAt);
  expect(active).toHaveLength(10);
  if (results[0]?.status === 'fulfilled') return;
  await expect(revive()).rejects.toMatchObject({ code: 'CONFLICT' });
});

test('an update changes only the given settings; 0 and an empty list remove a setting', async () => {
  const { key } = await createKey(service, { guildId: newGuild(), name: 'Old', rateLimit: 5, expiresAt: now() + 60 });
  const renamed = await service.admin.updateKey({ keyId: key.id, name: 'New', actor: 'ada' });
  expect(renamed.key).toEqual({ ...key, name: 'New' });
  const listed = await service.admin.updateKey({ keyId: key.id, ipAllowlist: { values: ['::/0'] }, actor: 'ada' });
  expect(listed.key).toMatchObject({ ipAllowlist: ['::/0'], rateLimit: 5, expiresAt: key.expiresAt });
  const bare = { rateLimit: 0, expiresAt: 0, ipAllowlist: { values: [] }, scopes: { values: [] } };
  const cleared = await service.admin.updateKey({ keyId: key.id, ...bare, actor: 'ada' });
  expect(cleared.key).toMatchObject({ ipAllowlist: [], scopes: [], legacy: false });
  expect([cleared.key?.rateLimit, cleared.key?.expiresAt]).toEqual([undefined, undefined]);
});

test('all faults of a request are reported together', async () => {
  const request = {
    guildId: '12',
    name: 'x'.repeat(101),
    scopes: ['lookup:read', 'admin:all'],
    ipAllowlist: ['10.0.0.0/8', '10.0.0.0/33', '010.0.0.1', 'localhost'],
    rateLimit: 1_000_001,
    expiresAt: now(),
    actor: '',
  };
  const { code, details } = await errorOf(createKey(service, request));
  expect(code).toBe('INVALID_REQUEST');
  expect((details['errors'] as { path: string }[]).map(({ path }) => path)).toEqual([
    'request.guild_id',
    'request.name',
    'request.scopes[1]',
    'request.ip_allowlist[1]',
    'request.ip_allowlist[2]',
    'request.ip_allowlist[3]',
    'request.rate_limit',
    'request.expires_at',
  ]);
  const { key } = await createKey(service, { guildId: newGuild() });
  for (const [call, path] of [
    [() => createKey(service, { guildId: newGuild(), legacy: true }), 'request.scopes'],
    [() => createKey(service, { guildId: newGuild(), rateLimit: 0 }), 'request.rate_limit'],
    [() => createKey(service, { guildId: newGuild(), expiresAt: clock.now() + 1e6 }), 'request.expires_at'],
    [() => service.admin.updateKey({ keyId: key.id, actor: 'ada' }), 'request.key_id'],
    [() => service.admin.rotateKey({ keyId: key.id, graceSeconds: 604_801, actor: 'ada' }), 'request.grace_seconds'],
    [() => service.admin.revokeKey({ keyId: 'nonsense', actor: 'ada' }), 'request.key_id'],
    [
      () => service.admin.listAudit({ guildId: key.guildId, limit: 1001, cursor: '', isInstallation: false }),
      'request.limit',
    ],
  ] as const) {
    expect((await errorOf(call())).details).toMatchObject({ errors: [{ path }] });
  }
  const missing = service.admin.revokeKey({ keyId: `${key.guildId}-99`, actor: 'ada' });
  await expect(missing).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

/** What the details say about the call of an operator. */
const CALL = { address: '127.0.0.1', request_id: expect.any(String) };

test('the audit lists who changed which key and how, the newest first, since a given time', async () => {
  const guildId = newGuild();
  const { key } = await createKey(service, { guildId, name: 'Servers' });
  clock.advance(10_000);
  await service.admin.updateKey({ keyId: key.id, rateLimit: 9, actor: 'bruno' });
  const rotated = await service.admin.rotateKey({ keyId: key.id, graceSeconds: 5, actor: 'chiara' });
  expect(await audit(guildId)).toEqual([
    {
      action: 'rotate',
      keyId: key.id,
      actor: 'root',
      details: { grace_seconds: 5, from: key.prefix, to: rotated.key?.prefix, note: 'chiara', ...CALL },
    },
    {
      action: 'update',
      keyId: key.id,
      actor: 'root',
      details: { before: { rate_limit: null }, after: { rate_limit: 9 }, note: 'bruno', ...CALL },
    },
    {
      action: 'create',
      keyId: key.id,
      actor: 'root',
      details: expect.objectContaining({ name: 'Servers', note: 'ada' }),
    },
  ]);
  const recent = await service.admin.listAudit({ guildId, since: now(), limit: 0, cursor: '', isInstallation: false });
  expect(recent.entries.map(({ action, at }) => [action, at])).toEqual([
    ['rotate', now()],
    ['update', now()],
  ]);
  expect(
    (await service.admin.listAudit({ guildId, limit: 1, cursor: '', isInstallation: false })).entries,
  ).toHaveLength(1);
});

test('neither the database nor the log contains a key', async () => {
  const { key, secret } = await createKey(service, { guildId: newGuild(), name: 'Secret' });
  const rotated = await service.admin.rotateKey({ keyId: key.id, graceSeconds: 60, actor: 'ada' });
  const tables = await databaseRows<{ name: string }>(
    database.url,
    "SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables WHERE table_schema = 'auth'",
  );
  const dumps = await Promise.all(
    tables.map(({ name }) => databaseRows<{ row: string }>(database.url, `SELECT t::text AS row FROM ${name} t`)),
  );
  const all = [...dumps.flat().map(({ row }) => row), ...service.log].join('\n');
  expect(all).toContain(key.prefix);
  for (const text of [secret, rotated.secret]) {
    const random = text.split('_')[2] ?? '';
    for (const part of [random, random.slice(6), Buffer.from(text).toString('hex')]) expect(all).not.toContain(part);
  }
});

test('key administration accepts only the secret of administrators', async () => {
  const guildId = newGuild();
  for (const secret of [INTERNAL_SECRET, 'x'.repeat(32)]) {
    const { client, close } = connect(KeyAdminServiceService, 'auth', service.address, clock, [secret]);
    const error = await errorOf(client.listKeys({ guildId, limit: 0, cursor: '' }));
    expect(error.cause).toMatchObject({ code: 16, details: 'a valid call token is required' });
    close();
  }
  expect(await list(guildId)).toEqual([]);
});

import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ManualClock, unixSeconds } from '#kit/clock.ts';
import type { EventRecorder } from '#kit/events/recorder.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { scansOf } from '#test/postgres/explain.ts';
import { recordedEvents } from '#test/postgres/recorded-events.ts';
import { createKey, startTestAuth, type TestAuth } from '#test/system/auth.ts';
import { expiringKeysSweep } from './domain/expiring.ts';
import { KeyEvents } from './events.ts';
import { claimExpiring } from './store/expiring.ts';
import { AuthTelemetry } from './telemetry.ts';

const DAY = 24 * 3600;
const clock = new ManualClock();
let database: TestDatabase;
let service: TestAuth;
let other: TestAuth;
let lastGuild = 900000000000000000n;

beforeAll(async () => {
  database = await createTestDatabase();
  [service, other] = await Promise.all([
    startTestAuth({ databaseUrl: database.url, clock }),
    startTestAuth({ databaseUrl: database.url, clock }),
  ]);
});
afterAll(async () => {
  await Promise.all([service.stop(), other.stop()]);
  await database.drop();
});

const newGuild = () => String(++lastGuild);
const now = () => unixSeconds(clock.now());
const events = (guildId: string) => recordedEvents(database.url, 'auth', guildId);
const typesOf = async (guildId: string) => (await events(guildId)).map(({ type, data }) => `${type} ${data.id}`);
const OPERATOR = { kind: 'operator', id: 'root' };

describe('an event of a key', () => {
  test('has the key as guildctl lists it, without secret and hash, and the operator as its source', async () => {
    const guildId = newGuild();
    const { key, secret } = await createKey(service, {
      guildId,
      name: 'Bot',
      rateLimit: 60,
      ipAllowlist: ['10.0.0.1'],
    });
    const data = {
      id: key.id,
      prefix: key.prefix,
      guild_id: guildId,
      name: 'Bot',
      scopes: ['lookup:read'],
      legacy: false,
      ip_allowlist: ['10.0.0.1'],
      rate_limit: 60,
      created_at: now(),
      expires_at: null,
      revoked_at: null,
      rotated_until: null,
      last_used_at: null,
    };
    expect(await events(guildId)).toEqual([{ number: 1, type: 'key.created', source: OPERATOR, persons: [], data }]);
    const [row] = await databaseRows(database.url, 'SELECT * FROM auth.events WHERE guild_id = $1', [guildId]);
    expect(JSON.stringify(row)).not.toContain(secret.slice(-32));
    expect(JSON.stringify(row)).not.toContain(createHash('sha256').update(secret).digest('hex'));
  });

  test('is recorded when it is edited, rotated and revoked; revoking again is no event', async () => {
    const guildId = newGuild();
    const { key } = await createKey(service, { guildId });
    await service.admin.updateKey({ keyId: key.id, name: 'Renamed', actor: 'ada' });
    const rotated = await service.admin.rotateKey({ keyId: key.id, graceSeconds: 60, actor: 'ada' });
    for (let time = 0; time < 2; time++) await service.admin.revokeKey({ keyId: key.id, actor: 'ada' });
    expect(await events(guildId)).toMatchObject([
      { type: 'key.created' },
      { type: 'key.changed', data: { name: 'Renamed', prefix: key.prefix } },
      { type: 'key.changed', data: { prefix: rotated.key?.prefix, rotated_until: now() + 60 } },
      { type: 'key.revoked', data: { id: key.id, revoked_at: now() } },
    ]);
    await expect(service.admin.updateKey({ keyId: key.id, name: 'X', actor: 'ada' })).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    expect(await events(guildId)).toHaveLength(4);
  });

  test('is recorded for each key that a revocation of the guild revokes', async () => {
    const guildId = newGuild();
    for (let count = 0; count < 3; count++) await createKey(service, { guildId });
    await service.admin.revokeKey({ keyId: `${guildId}-2`, actor: 'ada' });
    await service.admin.revokeGuildKeys({ guildId, actor: 'ada' });
    await service.admin.revokeGuildKeys({ guildId, actor: 'ada' });
    const revoked = (await typesOf(guildId)).filter((event) => event.startsWith('key.revoked'));
    expect(revoked).toEqual([2, 3, 1].map((number) => `key.revoked ${guildId}-${number}`));
  });

  test('that leaked says so before it is revoked; a dry run, an unknown and a revoked key are no events', async () => {
    const guildId = newGuild();
    const { key, secret } = await createKey(service, { guildId });
    const hash = createHash('sha256').update(secret).digest();
    const leaked = [hash, Buffer.alloc(32)].map((each) => ({
      guildId,
      hash: each,
      url: 'https://x.example',
      source: '',
    }));
    for (const dryRun of [true, false, false])
      await service.admin.revokeLeakedKeys({ keys: leaked, dryRun, actor: 'ada' });
    expect((await typesOf(guildId)).slice(1)).toEqual([`key.leaked ${key.id}`, `key.revoked ${key.id}`]);
  });

  test('and the change are committed together: without the event the key is not changed', async () => {
    const guildId = newGuild();
    const { key } = await createKey(service, { guildId });
    await databaseRows(
      database.url,
      `ALTER TABLE auth.events ADD CONSTRAINT fails CHECK (guild_id <> '${guildId}') NOT VALID`,
    );
    await expect(service.admin.revokeKey({ keyId: key.id, actor: 'ada' })).rejects.toMatchObject({ code: 'INTERNAL' });
    await expect(createKey(service, { guildId })).rejects.toMatchObject({ code: 'INTERNAL' });
    await databaseRows(database.url, 'ALTER TABLE auth.events DROP CONSTRAINT fails');
    const { keys } = await service.admin.listKeys({ guildId, limit: 0, cursor: '' });
    expect(keys).toEqual([key]);
    await service.admin.revokeKey({ keyId: key.id, actor: 'ada' });
    expect(await events(guildId)).toHaveLength(2);
  });
});

test('concurrent changes through two replicas leave an event each, and numbers without gaps', async () => {
  const guildId = newGuild();
  const { key } = await createKey(service, { guildId });
  const names = Array.from({ length: 16 }, (_, index) => `name ${index}`);
  await Promise.all(
    names.map((name, index) => (index % 2 ? service : other).admin.updateKey({ keyId: key.id, name, actor: 'ada' })),
  );
  const changed = (await events(guildId)).slice(1).map(({ data }) => data.name as string);
  expect(changed.toSorted()).toEqual(names.toSorted());
  // The last event has the name that the key has.
  const { keys } = await service.admin.listKeys({ guildId, limit: 0, cursor: '' });
  expect(keys[0]?.name).toBe(changed.at(-1));
});

describe('the coming expiry of a key', () => {
  const expiring = async (guildId: string) => (await events(guildId)).filter(({ type }) => type === 'key.expiring');
  const system = { kind: 'system', id: 'auth' };

  test('is one event seven days before, although two replicas look for it, and one more for another expiry', async () => {
    const guildId = newGuild();
    const { key } = await createKey(service, { guildId, expiresAt: now() + 8 * DAY });
    const { key: revoked } = await createKey(service, { guildId, expiresAt: now() + 8 * DAY });
    await service.admin.revokeKey({ keyId: revoked.id, actor: 'ada' });
    const { key: soon } = await createKey(service, { guildId, expiresAt: now() + DAY });
    await expect.poll(async () => (await expiring(guildId)).length, { timeout: 5_000 }).toBe(1);
    clock.advance(DAY * 1000 - 1);
    expect(await expiring(guildId)).toMatchObject([{ source: system, data: { id: soon.id } }]);
    clock.advance(1);
    await expect.poll(async () => (await expiring(guildId)).length, { timeout: 5_000 }).toBe(2);
    expect((await expiring(guildId))[1]).toMatchObject({
      source: system,
      data: { id: key.id, expires_at: key.expiresAt },
    });
    await service.admin.updateKey({ keyId: key.id, expiresAt: now() + 5 * DAY, actor: 'ada' });
    await expect.poll(async () => (await expiring(guildId)).length, { timeout: 5_000 }).toBe(3);
  });

  test('is not reported for keys that have expired', async () => {
    const guildId = newGuild();
    const { key } = await createKey(service, { guildId, expiresAt: now() + 30 * DAY });
    clock.advance(31 * DAY * 1000);
    const { key: marker } = await createKey(service, { guildId, expiresAt: now() + DAY });
    await expect.poll(async () => (await expiring(guildId)).length, { timeout: 5_000 }).toBe(1);
    expect([key.id, (await expiring(guildId))[0]?.data.id]).toEqual([`${guildId}-1`, marker.id]);
  });

  test('is not marked if its event cannot be recorded', async () => {
    const guildId = newGuild();
    await Promise.all([service.stop(), other.stop()]);
    const pool = await openTestPool(database.url);
    await pool.query('INSERT INTO auth.guilds (guild_id, next_number) VALUES ($1, 2)', [guildId]);
    await pool.query(
      `INSERT INTO auth.keys (guild_id, number, name, ip_allowlist, created_at, expires_at, version, changed_at)
       VALUES ($1, 1, 'x', '{}', $2, $2::timestamptz + interval '1 day', 1, $2)`,
      [guildId, new Date(clock.now())],
    );
    await pool.query(
      `INSERT INTO auth.key_secrets (guild_id, hash, number, prefix) VALUES ($1, '\\x00', 1, 'service_x')`,
      [guildId],
    );
    const log = await createLog({ service: 'test', level: 'silent' });
    const recorder = { record: () => Promise.reject(new Error('lost')) } as unknown as EventRecorder;
    const telemetry = new AuthTelemetry(new Metrics(), log);
    const sweep = expiringKeysSweep({ database: pool, clock, events: new KeyEvents(recorder), telemetry });
    await expect(sweep.sweep()).rejects.toThrow('lost');
    await pool.close();
    [service, other] = await Promise.all([
      startTestAuth({ databaseUrl: database.url, clock }),
      startTestAuth({ databaseUrl: database.url, clock }),
    ]);
    await expect.poll(async () => (await expiring(guildId)).length, { timeout: 5_000 }).toBe(1);
  });
});

test('on 100,000 keys the search for expiring ones reads only the index of keys that are still to be reported', async () => {
  const pool = await openTestPool(database.url);
  const from = `FROM generate_series(1, 1000) guild, generate_series(1, 100) n`;
  await databaseRows(
    database.url,
    `INSERT INTO auth.guilds (guild_id, next_number)
     SELECT (800000000000000000 + guild)::text, 101 FROM generate_series(1, 1000) guild`,
  );
  await databaseRows(
    database.url,
    `INSERT INTO auth.keys (guild_id, number, name, ip_allowlist, created_at, expires_at, version, changed_at)
     SELECT (800000000000000000 + guild)::text, n, 'x', '{}', now(), now() + n * interval '1 day', 1, now() ${from}`,
  );
  await databaseRows(database.url, 'VACUUM ANALYZE auth.keys');
  const at = new Date();
  const scans = await scansOf(pool, (on) => claimExpiring(on, at, new Date(at.getTime() + 3 * DAY * 1000), 100));
  expect(scans.toSorted()).toEqual(['key_secrets_of_key', 'keys_expiring', 'keys_pkey']);
  await pool.close();
}, 60_000);

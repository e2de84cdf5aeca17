import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { KeyChange } from '#proto/gen/guild/auth/v1/auth.ts';
import { withinBound } from '#test/measure/bounds.ts';
import { startTcpProxy, type TcpProxy } from '#test/network/tcp-proxy.ts';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import {
  receivedBeats,
  receivedVersions,
  startTestAuth,
  type TestAuth,
  type Watched,
  watchKeys,
} from '#test/system/auth.ts';

const GUILD = '900000000000000001';

let database: TestDatabase;
let proxy: TcpProxy;
let client: Client;
/** Two replicas on one database; `far` receives notifications through the proxy. */
let near: TestAuth;
let far: TestAuth;
const watchers: Watched[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  const direct = new URL(database.url);
  proxy = await startTcpProxy(Number(direct.port));
  direct.port = String(proxy.port);
  client = new Client({ connectionString: database.url });
  await client.connect();
  near = await startTestAuth({ databaseUrl: database.url });
  far = await startTestAuth({ databaseUrl: database.url, directUrl: direct.href });
});

afterEach(() => {
  for (const watcher of watchers.splice(0)) watcher.cancel();
  proxy.thaw();
});

afterAll(async () => {
  await Promise.all([near.stop(), far.stop()]);
  await client.end();
  await proxy.close();
  await database.drop();
});

async function watchUntilBeat(replica: TestAuth): Promise<Watched> {
  const watched = watchKeys(replica.auth);
  watchers.push(watched);
  await expect.poll(() => receivedBeats(watched)).toBeGreaterThan(0);
  return watched;
}

async function newKey(): Promise<string> {
  const request = { guildId: GUILD, name: '', legacy: true, scopes: [], ipAllowlist: [], actor: 'ada' };
  await near.admin.revokeGuildKeys({ guildId: GUILD, actor: 'ada' });
  const { key } = await near.admin.createKey(request);
  return key?.id ?? '';
}

const numberOf = (keyId: string) => Number(keyId.split('-')[1]);

function changesOf({ seen }: Watched, keyId: string): KeyChange[] {
  return seen.flatMap(({ event }) => (event.$case === 'change' && event.value.keyId === keyId ? [event.value] : []));
}

test('a change on one replica reaches the watchers of another within a second, with all hashes of the key', async () => {
  const keyId = await newKey();
  const watched = await watchUntilBeat(far);
  await near.admin.rotateKey({ keyId, graceSeconds: 60, actor: 'ada' });
  const rotatedAt = performance.now();
  await expect.poll(() => receivedVersions(watched, keyId), { interval: 5 }).toContain(2);
  withinBound('a change is sent by another replica of auth', performance.now() - rotatedAt, 1_000);
  const { hashes, changedAtMs, guildId } = changesOf(watched, keyId).find(
    (change) => change.version === 2,
  ) as KeyChange;
  expect(hashes.map((hash) => hash.length)).toEqual([32, 32]);
  expect(Math.abs(changedAtMs - Date.now())).toBeLessThan(5_000);
  expect(guildId).toBe(GUILD);
});

test('a new watcher receives the changes of the last 15 s before the first beat', async () => {
  const old = await newKey();
  await client.query("UPDATE auth.keys SET changed_at = now() - interval '16 seconds' WHERE number = $1", [
    numberOf(old),
  ]);
  const fresh = await newKey();
  const watched = await watchUntilBeat(near);
  const firstBeat = watched.seen.findIndex(({ event }) => event.$case === 'beat');
  const before = watched.seen.slice(0, firstBeat);
  const keys = before.map(({ event }) => event.$case === 'change' && event.value.keyId);
  expect(keys).toContain(fresh);
  // newKey() revokes the keys before, so `old` has changed too. Only keys without a recent change are omitted.
  await client.query("UPDATE auth.keys SET changed_at = now() - interval '16 seconds'");
  const later = await watchUntilBeat(near);
  expect(later.seen.every(({ event }) => event.$case === 'beat')).toBe(true);
});

test('a change that is rolled back is not sent', async () => {
  const keyId = await newKey();
  const watched = await watchUntilBeat(far);
  // The commit itself fails, after all statements of the change.
  await client.query(
    `CREATE FUNCTION auth.reject_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'rejected'; END $$`,
  );
  await client.query(`
    CREATE CONSTRAINT TRIGGER reject_update AFTER INSERT ON auth.audit DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW WHEN (NEW.action = 'update') EXECUTE FUNCTION auth.reject_update()`);
  await expect(near.admin.updateKey({ keyId, name: 'x', actor: 'ada' })).rejects.toMatchObject({ code: 'INTERNAL' });
  await client.query('DROP FUNCTION auth.reject_update CASCADE');
  await near.admin.rotateKey({ keyId, graceSeconds: 0, actor: 'ada' });
  await expect.poll(() => receivedVersions(watched, keyId)).toContain(2);
  // The update would have been version 2 with one secret.
  const second = changesOf(watched, keyId).filter((change) => change.version === 2);
  expect(second.map((change) => change.hashes.length)).toEqual(second.map(() => 2));
});

test('a change without a notification is sent within 5 s, even if it commits after later changes', async () => {
  const [late, other] = [await newKey(), await newKey()];
  const watched = await watchUntilBeat(near);
  const writer = new Client({ connectionString: database.url });
  await writer.connect();
  await writer.query('BEGIN');
  await writer.query('UPDATE auth.keys SET version = 7, changed_at = now() WHERE number = $1', [numberOf(late)]);
  await near.admin.updateKey({ keyId: other, name: 'x', actor: 'ada' });
  await expect.poll(() => receivedVersions(watched, other)).toContain(2);
  await writer.query('COMMIT');
  const committedAt = performance.now();
  await writer.end();
  await expect.poll(() => receivedVersions(watched, late)).toContain(7);
  withinBound('a change without a notification is sent', performance.now() - committedAt, 5_000);
});

test('a change of a key with too many secrets for a notification is sent', async () => {
  const keyId = await newKey();
  const watched = await watchUntilBeat(far);
  await client.query(
    `INSERT INTO auth.key_secrets (guild_id, hash, number, prefix, valid_until)
     SELECT $1, sha256(n::text::bytea), $2, 'x', now() + interval '1 day' FROM generate_series(1, 300) AS n`,
    [GUILD, numberOf(keyId)],
  );
  await near.admin.revokeKey({ keyId, actor: 'ada' });
  await expect.poll(() => receivedVersions(watched, keyId)).toContain(2);
  expect(changesOf(watched, keyId).at(-1)?.hashes).toHaveLength(301);
});

test('an invalid notification does not prevent later ones from being sent', async () => {
  const keyId = await newKey();
  const watched = await watchUntilBeat(far);
  for (const payload of ['', 'nonsense', '{}', '[1]'])
    await client.query('SELECT pg_notify($1, $2)', ['auth_keys', payload]);
  await near.admin.revokeKey({ keyId, actor: 'ada' });
  await expect.poll(() => receivedVersions(watched, keyId)).toContain(2);
});

test('beats are sent once a second', async () => {
  const watched = await watchUntilBeat(near);
  await expect.poll(() => receivedBeats(watched)).toBeGreaterThanOrEqual(4);
  const [first, second, third] = watched.seen.filter(({ event }) => event.$case === 'beat').slice(1);
  expect((third?.at ?? 0) - (second?.at ?? 0)).toBeGreaterThan(800);
  withinBound('two beats take', (third?.at ?? 0) - (first?.at ?? 0), 2_800);
});

test('beats stop within three seconds if LISTEN receives nothing, and resume after the missed changes were sent', async () => {
  const keyId = await newKey();
  const watched = await watchUntilBeat(far);
  proxy.freezeAll();
  const frozenAt = performance.now();
  await near.admin.revokeKey({ keyId, actor: 'ada' });
  const lastBeat = () => watched.seen.findLast(({ event }) => event.$case === 'beat')?.at ?? 0;
  await expect.poll(() => performance.now() - lastBeat()).toBeGreaterThan(3_500);
  withinBound('the last beat after LISTEN stopped receiving', lastBeat() - frozenAt, 3_000);
  const metrics = await fetch(`http://${far.service.addresses.admin}/metrics`);
  expect(await metrics.text()).toContain('listener_receiving{channel="auth_keys"} 0');
  const beats = receivedBeats(watched);
  proxy.thaw();
  await expect.poll(() => receivedBeats(watched)).toBeGreaterThan(beats);
  const all = watched.seen.map(({ event }) => event);
  const resumed = all.filter((event) => event.$case === 'beat')[beats];
  const before = all.slice(
    0,
    all.findIndex((event) => event === resumed),
  );
  const changes = before.map((event) => event.$case === 'change' && `${event.value.keyId} ${event.value.version}`);
  expect(changes).toContain(`${keyId} 2`);
});

test('a LISTEN connection that is terminated is replaced', async () => {
  const keyId = await newKey();
  const watched = await watchUntilBeat(far);
  const terminated = await client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = 'auth listener' AND datname = current_database()`,
  );
  expect(terminated.rowCount).toBe(2);
  const beats = receivedBeats(watched);
  await near.admin.revokeKey({ keyId, actor: 'ada' });
  await expect.poll(() => receivedVersions(watched, keyId)).toContain(2);
  await expect.poll(() => receivedBeats(watched)).toBeGreaterThan(beats);
});

test('a service that stops ends its streams and stops within two seconds', async () => {
  const replica = await startTestAuth({ databaseUrl: database.url });
  const watched = await watchUntilBeat(replica);
  const began = performance.now();
  await replica.stop();
  withinBound('a service that ends its streams stops', performance.now() - began, 2_000);
  await expect.poll(() => watched.hasEnded).toBe(true);
});

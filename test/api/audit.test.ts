import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { AuditEntry } from '#proto/gen/guild/auth/v1/admin.ts';
import { databaseRows } from '../postgres/database.ts';
import { callService } from '../system/signed-calls.ts';
import { GUILD, type Network, OTHER_GUILD, startNetwork } from '../system/system.ts';

const PERSON = { id: '920000000000000090', role: 'admin' } as const;
const ADDRESS = '203.0.113.9';
const REASON = { reason: 'Cheats', category: 'exploiter' };

let network: Network;
let key: string;

beforeAll(async () => {
  network = await startNetwork();
  key = (await network.createKey()).secret;
}, 180_000);
afterAll(() => network.stop());

interface Change {
  service: string;
  method: string;
  path: string;
  body?: object;
  headers?: Record<string, string>;
}
type Send = (change: Change) => Promise<{ status: number; data: Record<string, unknown> }>;

/** Sends a change through the gateway with an API key. */
const byKey: Send = async ({ method, path, body, headers = {} }) => {
  const { status, json } = await network.call(path, {
    method,
    key,
    body,
    headers: { 'x-guild-id': GUILD, ...headers },
  });
  return { status, data: json.data };
};

/** Sends a change to its service as the console does for a person. */
const byPerson: Send = async ({ service, method, path, body, headers = {} }) => {
  const at = { audience: service, address: network.address(service, 'http'), secrets: [network.secrets.internal] };
  const principal = {
    guildId: OTHER_GUILD,
    keyId: 'console',
    keyPrefix: 'console',
    person: PERSON,
    legacy: false,
    scopes: null,
    requestId: randomUUID(),
    address: ADDRESS,
  };
  const result = await callService(at, principal, {
    method,
    path,
    body,
    headers: { 'x-guild-id': OTHER_GUILD, ...headers },
  });
  return { status: result.status, data: result.body.data };
};

async function audit(guildId: string): Promise<(AuditEntry & { detail: Record<string, unknown> })[]> {
  const listed = await network
    .admin()
    .listAudit({ guildId, limit: 1000, cursor: '', isInstallation: false, since: undefined });
  return listed.entries.map((entry) => ({ ...entry, detail: JSON.parse(entry.details) })).toReversed();
}

/** The entries that the feed has written, once nothing waits to be written. */
async function fed(guildId: string) {
  await vi.waitFor(
    async () => {
      for (const table of ['moderation', 'lookup', 'bindings', 'activity', 'members'].map((name) => `${name}.events`)) {
        expect(await databaseRows(network.databaseUrl, `SELECT 1 FROM ${table} WHERE finished_at IS NULL`)).toEqual([]);
      }
      expect(await databaseRows(network.databaseUrl, 'SELECT 1 FROM events.audit_entries')).toEqual([]);
    },
    { timeout: 20_000, interval: 100 },
  );
  return (await audit(guildId)).filter(({ actor }) => actor === 'console' || actor.startsWith('key '));
}

const ban = (guild: string, fields: object = {}): Change => ({
  service: 'moderation',
  method: 'POST',
  path: `/moderation/${guild}/game/ban`,
  body: { game_id: 7001, reason: 'Cheats', ...fields },
});

test.each([
  ['an API key', GUILD, byKey, 'key', '127.0.0.1'],
  ['a person in the console', OTHER_GUILD, byPerson, 'console', ADDRESS],
] as const)(
  'each change by %s is in the audit once, with the record before and after, the address and the request ID',
  async (_, guild, send, actor, address) => {
    const changed = async (change: Change) => {
      const { status, data } = await send(change);
      expect({ change, status, data }).toMatchObject({ status: expect.toSatisfy((code: number) => code < 300) });
      return data;
    };
    const moderation = (method: string, path: string, body: object): Change => ({
      service: 'moderation',
      method,
      path,
      body,
    });
    const shield = `/guilds/${guild}/shield/7001`;
    await changed(ban(guild));
    await changed(moderation('POST', `/moderation/${guild}/game/unban`, { game_id: 7001 }));
    await changed(moderation('POST', `/moderation/${guild}/game/mute`, { game_id: 7001, reason: 'Spam' }));
    await changed(moderation('POST', `/moderation/${guild}/game/unmute`, { game_id: 7001 }));
    await changed(moderation('PUT', shield, REASON));
    await changed(moderation('PUT', shield, { ...REASON, reason: 'Again' }));
    await changed({ service: 'moderation', method: 'DELETE', path: shield });
    const webhooks = { service: 'events', method: 'POST', path: '/webhooks' };
    const url = 'https://hooks.example.com/secret';
    const { id } = (await changed({ ...webhooks, body: { guild_id: guild, url, types: ['ban.created'] } })) as {
      id: string;
    };
    await changed({ ...webhooks, method: 'PATCH', path: `/webhooks/${id}`, body: { description: 'Bans' } });
    await changed({ ...webhooks, path: `/webhooks/${id}/rotate`, body: {} });
    await changed({ ...webhooks, method: 'DELETE', path: `/webhooks/${id}` });
    const message = { type: 'broadcast', payload: { text: 'Hello' }, all: true };
    await changed({ service: 'activity', method: 'POST', path: `/guilds/${guild}/commands`, body: message });
    const link = { guild_id: guild, chat_id: '920000000000000001', game_id: 7001, game_username: 'AdaBuilds' };
    await changed({ service: 'members', method: 'POST', path: '/verification/link', body: link });
    await changed({
      service: 'members',
      method: 'POST',
      path: '/verification/unlink',
      body: { guild_id: guild, chat_id: link.chat_id },
    });

    const entries = await fed(guild);
    const flagged = expect.objectContaining({ game_id: 7001, reason: 'Cheats' });
    const hook = expect.objectContaining({ webhook_id: id, host: 'hooks.example.com', description: null });
    const expected: [string, unknown, unknown][] = [
      ['ban.created', undefined, flagged],
      ['ban.lifted', flagged, flagged],
      ['mute.created', undefined, expect.objectContaining({ reason: 'Spam' })],
      ['mute.lifted', expect.objectContaining({ reason: 'Spam' }), expect.objectContaining({ game_id: 7001 })],
      ['shield.added', undefined, flagged],
      ['shield.added', flagged, expect.objectContaining({ reason: 'Again' })],
      ['shield.removed', expect.objectContaining({ reason: 'Again' }), undefined],
      ['webhook.created', undefined, hook],
      ['webhook.updated', hook, expect.objectContaining({ description: 'Bans' })],
      ['webhook.rotated', undefined, expect.objectContaining({ webhook_id: id })],
      ['webhook.deleted', expect.objectContaining({ description: 'Bans' }), undefined],
      ['command.sent', undefined, expect.objectContaining({ type: 'broadcast' })],
      ['link.created', undefined, expect.objectContaining({ game_id: 7001 })],
      ['link.removed', expect.objectContaining({ game_username: 'AdaBuilds' }), undefined],
    ];
    const byName = (one: readonly unknown[], other: readonly unknown[]) =>
      String(one[0]).localeCompare(String(other[0]));
    const found = entries.map(({ action, detail }) => [action, detail['before'], detail['after']] as const);
    expect(found.toSorted(byName)).toEqual(expected.toSorted(byName));
    for (const { detail, actor: by } of entries) {
      expect(by.startsWith(actor)).toBe(true);
      expect(detail).toMatchObject({ address, request_id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
      expect(detail['person']).toEqual(actor === 'console' ? PERSON : undefined);
    }
    expect(JSON.stringify(entries)).not.toContain(url);
    // Readers of events see only who caused an event.
    const log = await databaseRows<{ source: object }>(network.databaseUrl, 'SELECT source FROM events.log');
    for (const { source } of log) expect(Object.keys(source).toSorted()).toEqual(['id', 'kind']);
    const verified = await network.admin().verifyAudit({ guildId: guild, cursor: '' });
    expect(verified.firstBreak).toBeUndefined();
  },
  60_000,
);

test('rejected requests and repeats with an Idempotency-Key leave no further entry', async () => {
  const earlier = (await fed(OTHER_GUILD)).length;
  const headers = { 'idempotency-key': randomUUID() };
  const first = { ...ban(OTHER_GUILD, { game_id: 7100 }), headers };
  expect(await Promise.all([byPerson(first), byPerson(first)])).toHaveLength(2);
  expect((await byPerson(first)).status).toBe(201);
  expect((await byPerson(ban(OTHER_GUILD, { game_id: 7100 }))).status).toBe(409);
  expect((await byPerson(ban(OTHER_GUILD, { game_id: 'x' }))).status).toBe(400);
  expect(await fed(OTHER_GUILD)).toHaveLength(earlier + 1);
});

const statement = (text: string, values: unknown[] = []) =>
  databaseRows<Record<string, unknown>>(network.databaseUrl, text, values);
const bans = async () => (await audit(OTHER_GUILD)).filter(({ action }) => action === 'ban.created');
const restart = (name: string) => network.startOne(name, network.samePorts(name));

test('nothing is lost or doubled if auth and events end between any two steps', async () => {
  const earlier = (await fed(OTHER_GUILD)).length;
  await network.services.get('events')?.stop();
  await byPerson(ban(OTHER_GUILD, { game_id: 7201 }));
  await network.services.get('auth')?.stop();
  await restart('events');
  await vi.waitFor(async () => expect(await statement('SELECT 1 FROM events.audit_entries')).toHaveLength(1), 20_000);
  const [taken] = await statement('SELECT to_jsonb(entry) AS row FROM events.audit_entries AS entry');
  await restart('auth');
  expect(await fed(OTHER_GUILD)).toHaveLength(earlier + 1);
  // As after a crash between the commit in the audit and the deletion in the events service.
  await statement(
    `INSERT INTO events.audit_entries OVERRIDING SYSTEM VALUE
     SELECT * FROM jsonb_populate_record(NULL::events.audit_entries, $1::jsonb)`,
    [JSON.stringify(taken?.['row'])],
  );
  expect(await fed(OTHER_GUILD)).toHaveLength(earlier + 1);
}, 60_000);

test('entries that cannot be stored delay no other guild, and are stored without details if a value is rejected', async () => {
  await fed(OTHER_GUILD);
  await statement(`ALTER TABLE auth.audit ADD CONSTRAINT fails CHECK (guild_id <> '${GUILD}') NOT VALID`);
  await statement(`CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.details #>> '{after,game_id}' = '7301' THEN RAISE EXCEPTION USING ERRCODE = '22P05'; END IF; RETURN NEW;
  END $$`);
  await statement('CREATE TRIGGER a_reject BEFORE INSERT ON auth.audit FOR EACH ROW EXECUTE FUNCTION reject()');
  await byKey(ban(GUILD, { game_id: 7300 }));
  for (const game_id of [7301, 7302]) await byPerson(ban(OTHER_GUILD, { game_id }));
  await vi.waitFor(async () => expect((await bans()).at(-1)?.detail['after']).toMatchObject({ game_id: 7302 }), 20_000);
  expect((await bans()).at(-2)?.detail).toEqual({ unreadable: true });
  expect(await statement('SELECT guild_id FROM events.audit_entries')).toEqual([{ guild_id: GUILD }]);
  await statement('ALTER TABLE auth.audit DROP CONSTRAINT fails');
  await statement('DROP TRIGGER a_reject ON auth.audit');
  expect((await fed(GUILD)).at(-1)?.detail['after']).toMatchObject({ game_id: 7300 });
}, 60_000);

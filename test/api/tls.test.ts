import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { guildctl } from '#services/cli/guildctl.ts';
import { Authority, writeTlsFiles } from '../network/certificates.ts';
import { sendRaw } from '../network/raw-http.ts';
import { GUILD, type Network, startNetwork } from '../system/system.ts';

const authority = new Authority('ours');
const folder = mkdtempSync(join(tmpdir(), 'guild-tls-'));
const files = writeTlsFiles(folder, authority.issue(), authority.cert);
let network: Network;

beforeAll(async () => {
  network = await startNetwork({ environment: files });
});
afterAll(async () => {
  await network.stop();
  rmSync(folder, { recursive: true });
});

async function run(environment: Record<string, string>, ...words: string[]) {
  const said = { out: '', error: '' };
  const own = { GUILDCTL_AUTH: network.address('auth', 'grpc'), ADMIN_SECRETS: network.secrets.admin, ...environment };
  const say = { out: (text: string) => (said.out += text), error: (text: string) => (said.error += text) };
  const status = await guildctl([...words, '--json'], { environment: own, user: 'ada', ...say });
  return { status, ...said };
}

it('the whole system works over mutual TLS: guildctl, gRPC and REST', async () => {
  const made = await run(files, 'keys', 'create', '--guild', GUILD, '--all-scopes');
  expect(made).toMatchObject({ status: 0, error: '' });
  const { key } = JSON.parse(made.out) as { key: string };
  const body = { guild_id: GUILD, chat_id: '920000000000000001', game_id: 7001, game_username: 'AdaBuilds' };
  expect((await network.call('/verification/link', { method: 'POST', key, body })).status).toBe(201);
  const found = await network.call('/lookup/game/7001', { key, headers: { 'x-guild-id': GUILD } });
  expect(found.json.data).toMatchObject({ chat_id: body.chat_id });
  // The services' certificates are valid for their names, regardless of the address that a client uses.
  const head = `GET /api/v1/lookup/game/7001 HTTP/1.1\nHost: api.example\nX-API-Key: ${key}\nX-Guild-ID: ${GUILD}\n`;
  const raw = await sendRaw(network.address('gateway', 'http'), `${head}Connection: close\n\n`);
  expect(raw).toMatch(/^HTTP\/1\.1 200 /);
  const ban = { guild_id: GUILD, game_id: 7009, reason: 'spam' };
  expect((await network.call(`/moderation/${GUILD}/game/ban`, { method: 'POST', key, body: ban })).status).toBe(201);
});

it('a service rejects clients without a certificate', async () => {
  await expect(fetch(`https://${network.address('lookup', 'http')}/`)).rejects.toThrow('fetch failed');
  await expect(fetch(`http://${network.address('lookup', 'http')}/`)).rejects.toThrow('fetch failed');
  const none = await run({}, 'keys', 'list', '--guild', GUILD);
  expect(none).toMatchObject({ status: 1, out: '' });
});

it('guildctl and the gateway report errors of their TLS configuration', async () => {
  const { INTERNAL_TLS_KEY_FILE: _, ...some } = files;
  const said = await run(some, 'keys', 'list', '--guild', GUILD);
  expect(said.error).toContain('INTERNAL_TLS_KEY_FILE is required with the other two');
  const mixed = network.startOne('gateway', { LOOKUP_HTTP_URL: 'http://127.0.0.1:1' });
  await expect(mixed).rejects.toThrow('LOOKUP_HTTP_URL must begin with https:// since INTERNAL_TLS_CERT_FILE is given');
});

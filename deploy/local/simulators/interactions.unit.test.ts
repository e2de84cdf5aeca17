import { createPublicKey, verify } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HOSTILE_VARIANTS } from './chat/interactions/hostile.ts';
import type { Simulators } from './main.ts';
import { startSimulators } from './main.ts';
import { call } from './test-client.ts';

const guild = '900000000000000001';
const userId = (last: number) => `9200000000000000${String(last).padStart(2, '0')}`;
const applicationId = '940000000000000001';
type Received = { headers: IncomingHttpHeaders; body: string };
type Sent = { id: string; token: string; status: number | null; response: unknown; message: unknown; edits: number };

let simulators: Simulators;
let server: Server;
let received: Received[];
let answer: { status: number; body?: unknown } | 'none';
let now: number;

beforeEach(async () => {
  now = 1_700_000_000_000;
  received = [];
  answer = { status: 200, body: { type: 5 } };
  simulators = await startSimulators({ clock: () => now });
  server = createServer((request, response) => void respond(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  server.close();
  await simulators.stop();
});

/** The application of the test: it keeps each request and gives the answer that the test chose. */
async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  received.push({ headers: request.headers, body: await text(request) });
  if (answer === 'none') response.socket?.destroy();
  else response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body ?? {}));
}

const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/interactions`;
const control = (method: string, body?: unknown) => call(`${simulators.chat}/__interactions`, { method, body });
const bot = (method: string, path: string, body?: unknown) =>
  call(`${simulators.chat}/api/v10${path}`, { method, body, headers: { authorization: 'Bot token' } });
const webhook = (method: string, token: string, body?: unknown) =>
  call(`${simulators.chat}/api/v10/webhooks/${applicationId}/${token}/messages/@original`, { method, body });

async function use(command: string, options: object = {}, more: object = {}): Promise<Sent> {
  const reply = await control('POST', { url: url(), guild, user: userId(1), command, options, ...more });
  expect(reply.status).toBe(200);
  return reply.body as Sent;
}

const bodyOf = (request: Received | undefined) => JSON.parse(request?.body ?? '') as Record<string, unknown>;

/** Verifies a request as an application has to. */
function isSigned({ headers, body }: Received): boolean {
  const signature = String(headers['x-signature-ed25519'] ?? '');
  if (!/^[0-9a-f]{128}$/.test(signature)) return false;
  const x = Buffer.from(simulators.world.application.publicKey, 'hex').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const signed = Buffer.from(`${String(headers['x-signature-timestamp'])}${body}`);
  return verify(null, signed, key, Buffer.from(signature, 'hex'));
}

test('the application shows the key that verifies its interactions, and whether it may see members', async () => {
  const { application } = simulators.world;
  expect((await bot('GET', '/applications/@me')).body).toMatchObject({
    id: applicationId,
    verify_key: application.publicKey,
    flags: 1 << 14,
  });
});

test('a ping and a command are signed with the key, and show who uses it where with which permissions', async () => {
  await control('POST', { url: url(), type: 'ping' });
  expect(bodyOf(received[0])).toMatchObject({ type: 1, application_id: applicationId, version: 1 });
  const { id, token } = await use('whois', { name: 'ada' }, { user: userId(10) });
  expect(bodyOf(received[1])).toMatchObject({
    id,
    token,
    type: 2,
    guild_id: guild,
    channel_id: guild,
    member: { user: { id: userId(10) }, permissions: String((1n << 50n) - 1n) },
    data: { name: 'whois', type: 1, options: [{ name: 'name', type: 3, value: 'ada' }] },
  });
  expect(received.map(isSigned)).toEqual([true, true]);
});

test.each(HOSTILE_VARIANTS)('a request with the fault %s cannot be verified', async (variant) => {
  await use('whois', {}, { variant });
  await control('POST', { url: url(), type: 'ping', variant });
  expect(received.map(isSigned)).toEqual([false, false]);
});

test('an old time can be signed, an ID be used again, and a request be sent again unchanged', async () => {
  const old = Math.floor(now / 1000) - 301;
  const { id } = await use('whois', {}, { timestamp: old });
  expect(received[0]?.headers['x-signature-timestamp']).toBe(String(old));
  const again = await use('whois', {}, { id });
  expect(bodyOf(received[1])['id']).toBe(id);
  await control('POST', { resend: again.id });
  expect(received[2]).toMatchObject({ body: received[1]?.body });
  expect(received[2]?.headers['x-signature-ed25519']).toBe(received[1]?.headers['x-signature-ed25519']);
  expect(received.map(isSigned)).toEqual([true, true, true]);
});

test('a deferred response is edited with the token, and the control shows what the user sees', async () => {
  const { token, message } = await use('verify');
  expect(message).toEqual({ pending: true });
  expect(await webhook('PATCH', token, { content: 'Linked.' })).toMatchObject({
    status: 200,
    body: { content: 'Linked.' },
  });
  expect((await control('GET')).body).toMatchObject({
    interactions: [{ token, status: 200, message: { content: 'Linked.', pending: false }, edits: 1 }],
  });
  await control('DELETE');
  expect((await control('GET')).body).toEqual({ interactions: [] });
});

test('an edit is refused before the response, after 15 minutes, and with a message that is empty or too long', async () => {
  answer = { status: 401 };
  const rejected = await use('verify');
  expect(rejected).toMatchObject({ status: 401, message: null });
  expect(await webhook('PATCH', rejected.token, { content: 'x' })).toMatchObject({
    status: 404,
    body: { code: 10015 },
  });
  answer = 'none';
  expect(await use('verify')).toMatchObject({ status: null, message: null });
  answer = { status: 200, body: { type: 5, data: { flags: 64 } } };
  const { token } = await use('verify');
  expect(await webhook('PATCH', token, {})).toMatchObject({ status: 400, body: { code: 50006 } });
  expect(await webhook('PATCH', token, { content: 'x'.repeat(2001) })).toMatchObject({ body: { code: 50035 } });
  expect((await webhook('GET', token)).body).toMatchObject({ flags: 64, pending: true });
  now += 900_000;
  expect(await webhook('PATCH', token, { content: 'x' })).toMatchObject({ status: 401, body: { code: 50027 } });
});

test('edits have a limit for each token', async () => {
  const { token } = await use('verify');
  for (let edit = 0; edit < 5; edit += 1) await webhook('PATCH', token, { content: String(edit) });
  expect(await webhook('PATCH', token, { content: 'x' })).toMatchObject({ status: 429, body: { global: false } });
  const other = await use('verify');
  expect((await webhook('PATCH', other.token, { content: 'x' })).status).toBe(200);
});

test('commands are replaced as a whole; options have the types of their command, and users are resolved', async () => {
  const path = `/applications/${applicationId}/commands`;
  const options = [{ type: 6, name: 'member', description: 'Who', required: true }];
  const commands = [{ name: 'whois', description: 'Shows a link', options, default_member_permissions: '4' }];
  const { status, body } = await bot('PUT', path, commands);
  expect(status).toBe(200);
  const [{ id } = { id: '' }] = body as { id: string }[];
  await use('whois', { member: userId(4) });
  expect(bodyOf(received[0])['data']).toMatchObject({
    id,
    options: [{ name: 'member', type: 6, value: userId(4) }],
    resolved: {
      users: { [userId(4)]: { username: 'dmitri' } },
      members: { [userId(4)]: { roles: [], permissions: '1024' } },
    },
  });
  expect((await bot('PUT', path, commands)).body).toMatchObject([{ id }]);
  expect((await bot('PUT', path, [])).body).toEqual([]);
  expect((await bot('GET', path)).body).toEqual([]);
  const own = `/applications/${applicationId}/guilds/${guild}/commands`;
  expect((await bot('PUT', own, commands)).body).toMatchObject([{ name: 'whois' }]);
});

test.each([
  ['no list', {}],
  ['a name in upper case', [{ name: 'Whois', description: 'd' }]],
  ['no description', [{ name: 'whois' }]],
  ['two commands of one name', [1, 2].map(() => ({ name: 'whois', description: 'd' }))],
  [
    'a required option after one that is not',
    [
      {
        name: 'whois',
        description: 'd',
        options: [
          { type: 3, name: 'a', description: 'd' },
          { type: 3, name: 'b', description: 'd', required: true },
        ],
      },
    ],
  ],
])('commands with %s are refused', async (_what, commands) => {
  const refused = await bot('PUT', `/applications/${applicationId}/commands`, commands);
  expect(refused).toMatchObject({ status: 400, body: { code: 50035 } });
});

test('another application has no commands, and a control call that makes no sense is refused', async () => {
  expect(await bot('PUT', '/applications/940000000000000002/commands', [])).toMatchObject({ status: 404 });
  for (const body of [
    {},
    { url: url(), guild: userId(1), user: userId(1), command: 'verify' },
    { url: url(), guild, user: userId(99), command: 'verify' },
    { resend: userId(1) },
  ])
    expect((await control('POST', body)).status).toBe(400);
});

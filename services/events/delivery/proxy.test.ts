import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Authority } from '#test/network/certificates.ts';
import { createConnectProxy } from '#test/network/connect-proxy.ts';
import { createSender, LOOPBACK, post, response, serve, serveRaw } from './fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'webhook-proxy-'));
afterAll(() => rmSync(folder, { recursive: true }));
const authority = new Authority('ours');
const caFile = join(folder, 'ca.pem');
writeFileSync(caFile, authority.cert);

const rejection = (status: string) => `HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`;
const serveOk = () => serveRaw((socket) => socket.write(response('ok')));

/** Starts a proxy; `environment` makes a sender use it. */
async function serveProxy(refuse?: (target: string) => string | null | undefined, credentials = '') {
  const { server, connections } = createConnectProxy(refuse);
  const port = await serve(server);
  const proxy = { WEBHOOKS_PROXY: `http://${credentials}127.0.0.1:${port}`, WEBHOOKS_CA_FILE: caFile };
  return { connections, environment: { ...LOOPBACK, ...proxy } };
}

test('http and https go through a tunnel to the address that was checked, with the credentials of the URL', async () => {
  const plain = await serveOk();
  const secure = createServer(authority.issue({ names: ['hooks.example'] }), (request, answer) => {
    request.resume().on('end', () => answer.end(request.headers.host));
  });
  const securePort = await serve(secure);
  const { connections, environment } = await serveProxy(undefined, 'user:p%40ss@');
  const sender = createSender(environment);
  expect(await post(sender, `http://hooks.example:${plain.port}/`)).toMatchObject({ status: 200, answer: 'ok' });
  const answer = `hooks.example:${securePort}`;
  expect(await post(sender, `https://hooks.example:${securePort}/`)).toMatchObject({ status: 200, answer });
  const authorization = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
  expect(connections).toEqual([
    { target: `127.0.0.1:${plain.port}`, authorization },
    { target: `127.0.0.1:${securePort}`, authorization },
  ]);
  expect(plain.received).not.toContain('roxy');
});

test('a tunnel is used again for the same host, and never for another one', async () => {
  const server = await serveOk();
  const { connections, environment } = await serveProxy();
  const sender = createSender(environment);
  for (const name of ['a.example', 'a.example', 'b.example']) await post(sender, `http://${name}:${server.port}/`);
  expect(connections).toHaveLength(2);
});

test('the proxy sees no address that is not permitted, and no name', async () => {
  const { connections, environment } = await serveProxy();
  const sender = createSender(environment, { resolve: async () => ['10.0.0.1', '127.0.0.1'] });
  expect(await post(sender, 'https://hooks.example/')).toMatchObject({
    error: 'address not allowed',
    isOurFault: false,
  });
  expect(await post(sender, 'https://[::ffff:10.0.0.1]/')).toMatchObject({ error: 'address not allowed' });
  expect(connections).toEqual([]);
});

test('an IPv6 address is written in brackets', async () => {
  const { connections, environment } = await serveProxy(() => rejection('502 Bad Gateway'));
  const sender = createSender(environment, { resolve: async () => ['2606:4700::1111', '8.8.8.8'] });
  expect(await post(sender, 'https://hooks.example/')).toMatchObject({ error: 'connection failed', isOurFault: false });
  expect(connections.map(({ target }) => target)).toEqual(['8.8.8.8:443', '[2606:4700::1111]:443']);
});

test('a certificate for another name is rejected in the tunnel too', async () => {
  const port = await serve(createServer(authority.issue({ names: ['other.example', '127.0.0.1'] })));
  const { environment } = await serveProxy();
  const result = await post(createSender(environment), `https://hooks.example:${port}/`);
  expect(result).toMatchObject({ error: 'TLS: the certificate is for another name' });
});

test.each([
  ['an address that the proxy forbids', rejection('403 Forbidden'), 'address not allowed', false],
  ['a target that the proxy cannot reach', rejection('504 Gateway Timeout'), 'connection failed', false],
  ['a target that speaks first', 'HTTP/1.1 200 OK\r\n\r\nSSH-2.0', 'malformed response', false],
  ['a proxy that does not respond', null, 'timeout', false],
  ['wrong credentials', rejection('407 Proxy Authentication Required'), 'temporarily unavailable', true],
  [
    'a proxy that redirects',
    'HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1/\r\n\r\n',
    'temporarily unavailable',
    true,
  ],
  ['a proxy that is none', 'SSH-2.0-OpenSSH\r\n', 'temporarily unavailable', true],
  ['a proxy that closes', '', 'temporarily unavailable', true],
])('%s is an error', async (_, text, error, isOurFault) => {
  const { environment } = await serveProxy(() => text);
  const result = await post(createSender(environment), 'https://hooks.example/', { timeoutMs: 500 });
  expect(result).toMatchObject({ status: null, error, isOurFault });
});

test('an address to which the proxy does not connect is given up after some seconds, which is not our fault', async () => {
  const { connections, environment } = await serveProxy(() => null);
  const result = await post(createSender(environment), 'https://hooks.example/', { timeoutMs: 30_000 });
  expect(result).toMatchObject({ status: null, error: 'timeout', isOurFault: false });
  expect(result.latencyMs).toBeLessThan(20_000);
  expect(connections).toHaveLength(1);
});

test('a proxy that fails is not asked for the other addresses of the name', async () => {
  const { connections, environment } = await serveProxy(() => rejection('407 Proxy Authentication Required'));
  const sender = createSender(environment, { resolve: async () => ['8.8.8.8', '1.1.1.1'] });
  expect(await post(sender, 'https://hooks.example/')).toMatchObject({ isOurFault: true });
  expect(connections).toHaveLength(1);
});

test('a proxy that is down is not the fault of the endpoint, and nothing is sent directly', async () => {
  const server = await serveOk();
  const sender = createSender({ ...LOOPBACK, WEBHOOKS_PROXY: 'http://127.0.0.1:1' });
  const result = await post(sender, `http://hooks.example:${server.port}/`);
  expect(result).toMatchObject({ status: null, error: 'temporarily unavailable', isOurFault: true });
  expect(server.connections).toBe(0);
});

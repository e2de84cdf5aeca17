import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createPlainServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { requestContext } from '#kit/context.ts';
import { Breakers } from '#kit/resilience/breaker.ts';
import { addressOf, listen } from '#kit/service/address.ts';
import { ConfigError } from '#kit/service/config.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { type FinishedSpan, Span } from '#kit/telemetry/tracing/span.ts';
import { Authority } from '#test/network/certificates.ts';
import { createConnectProxy } from '#test/network/connect-proxy.ts';
import type { PlatformAccessConfig } from '../config.ts';
import { platformFetch } from './fetch.ts';
import { PlatformHost } from './host.ts';

const folder = mkdtempSync(join(tmpdir(), 'platform-fetch-'));
afterAll(() => rmSync(folder, { recursive: true }));
const authority = new Authority('ours');
const caFile = join(folder, 'ca.pem');
writeFileSync(caFile, authority.cert);

async function start(server: Server): Promise<string> {
  await listen(server, '127.0.0.1', 0);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return addressOf(server);
}

/** A platform with a certificate of a private CA. */
async function startPlatform(respond: (request: IncomingMessage, response: ServerResponse) => void) {
  const address = await start(createServer(authority.issue({ names: ['127.0.0.1'] }), respond));
  return { address, url: `https://${address}` };
}

async function startProxy(refuse?: (target: string) => string | null) {
  const { server, connections } = createConnectProxy(refuse);
  const address = await start(server);
  return { connections, url: `http://user:p%40ss@${address}` };
}

function hostAt(url: string, config: PlatformAccessConfig, deadlineMs = 5_000, tunnelMs?: number): PlatformHost {
  const metrics = new Metrics();
  const breakers = new Breakers(metrics);
  onTestFinished(() => breakers.stop());
  const fetch = platformFetch(config, tunnelMs);
  const clock = new ManualClock();
  return new PlatformHost({
    name: 'chat',
    platform: 'chat platform',
    url,
    metrics,
    breakers,
    clock,
    deadlineMs,
    fetch,
  });
}

const echo = (request: IncomingMessage, response: ServerResponse) => {
  const { method, url, headers } = request;
  response.setHeader('x-limit', ['a', 'b']);
  const respond = (body: string) => response.end(JSON.stringify({ method, url, type: headers['content-type'], body }));
  void text(request).then(respond);
};

test('calls go through one tunnel of the proxy, with its credentials, to a host with a certificate of the private CA', async () => {
  const platform = await startPlatform(echo);
  const proxy = await startProxy();
  const host = hostAt(platform.url, { PLATFORMS_PROXY: proxy.url, PLATFORMS_CA_FILE: caFile });
  const read = await host.get('/users/1?a=b');
  expect(read).toMatchObject({ status: 200, body: { method: 'GET', url: '/users/1?a=b', body: '' } });
  const written = await host.call('/roles', { method: 'POST', body: { name: 'é' } });
  expect(written.body).toMatchObject({ method: 'POST', type: 'application/json', body: '{"name":"é"}' });
  expect(written.headers.get('x-limit')).toBe('a, b');
  const form = await host.call('/token', { method: 'POST', body: new URLSearchParams({ code: 'a b' }) });
  expect(form.body).toMatchObject({ type: expect.stringContaining('form-urlencoded'), body: 'code=a+b' });
  const authorization = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
  expect(proxy.connections).toEqual([{ target: platform.address, authorization }]);
});

test('the private CA is trusted without a proxy too, and not without its file', async () => {
  const platform = await startPlatform(echo);
  const call = (config: PlatformAccessConfig) => hostAt(platform.url, config).get('/');
  expect(await call({ PLATFORMS_CA_FILE: caFile })).toMatchObject({ status: 200 });
  await expect(call({})).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  const proxy = await startProxy();
  await expect(call({ PLATFORMS_PROXY: proxy.url })).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
});

test.each([
  ['refuses the tunnel', () => 'HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n'],
  ['closes the connection', () => ''],
])('a call is an error if the proxy %s; the host is not called directly', async (_, refuse) => {
  let calls = 0;
  const platform = await startPlatform((_request, response) => {
    calls += 1;
    response.end('{}');
  });
  const proxy = await startProxy(refuse);
  const host = hostAt(platform.url, { PLATFORMS_PROXY: proxy.url, PLATFORMS_CA_FILE: caFile });
  await expect(host.get('/')).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
  expect([proxy.connections.length, calls]).toEqual([1, 0]);
});

test('a URL without TLS is called through the proxy too', async () => {
  let seen: string | undefined;
  const proxy = await start(
    createPlainServer((request, response) => {
      seen = request.url;
      response.end('{"from":"proxy"}');
    }),
  );
  const host = hostAt('http://platform.invalid', { PLATFORMS_PROXY: `http://${proxy}` });
  expect(await host.get('/users')).toMatchObject({ body: { from: 'proxy' } });
  expect(seen).toBe('http://platform.invalid/users');
});

test('the deadline ends a call whose response does not end', async () => {
  const platform = await startPlatform((_request, response) => void response.write('{'));
  const host = hostAt(platform.url, { PLATFORMS_CA_FILE: caFile }, 300);
  await expect(host.get('/')).rejects.toMatchObject({ code: 'TIMEOUT' });
});

/** A proxy that opens tunnels and sends nothing through them. */
async function startSilentTunnels() {
  const open = new Set<Socket>();
  const server = createPlainServer();
  server.on('connect', (_request: IncomingMessage, client: Socket) => {
    open.add(client.on('error', () => undefined).on('close', () => open.delete(client)));
    client.on('end', () => client.end());
    client.resume().write('HTTP/1.1 200 Connection established\r\n\r\n');
  });
  return { open, url: `http://${await start(server)}` };
}

test('the deadline ends calls whose tunnel stays silent, and their connections are closed', async () => {
  const proxy = await startSilentTunnels();
  const host = hostAt('https://platform.invalid', { PLATFORMS_PROXY: proxy.url }, 300, 600);
  // More calls than may be in flight: the later ones wait for the slots of the first ones.
  const calls = Array.from({ length: 25 }, () => host.get('/'));
  const codes = (await Promise.allSettled(calls)).map((call) => call.status === 'rejected' && call.reason.code);
  expect(new Set(codes.slice(0, 20))).toEqual(new Set(['TIMEOUT']));
  expect(codes).not.toContain(false);
  await expect.poll(() => proxy.open.size).toBe(0);
});

test('a proxy that does not respond to CONNECT is a timeout at the deadline of the call, not earlier', async () => {
  const proxy = await startProxy(() => null);
  const config = { PLATFORMS_PROXY: proxy.url };
  const started = performance.now();
  const call = (deadlineMs: number) => hostAt('https://platform.invalid', config, deadlineMs).get('/');
  await expect(call(300)).rejects.toMatchObject({ code: 'TIMEOUT' });
  expect(performance.now() - started).toBeLessThan(2_500);
  await expect(call(4_300)).rejects.toMatchObject({ code: 'TIMEOUT' });
});

/** The span of a request, whose client sent a tracestate; `finished` are the spans that are exported. */
function spanOfRequest(isSampled: boolean) {
  const finished: FinishedSpan[] = [];
  const ids = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), parentSpanId: undefined, traceState: 'vendor=1' };
  const recorder = { record: (span: FinishedSpan) => void finished.push(span), recordUnsampledError: () => undefined };
  return { span: new Span({ ids, requestId: undefined, recorder, kind: 'server', isSampled, isRoot: true }), finished };
}

test('a sampled call to a whole URL names its host in the trace', async () => {
  const platform = await startPlatform(echo);
  const host = hostAt('', { PLATFORMS_CA_FILE: caFile });
  const { span, finished } = spanOfRequest(true);
  const context = { requestId: 'r', route: 'none', span };
  expect(await requestContext.run(context, () => host.get(`${platform.url}/token`))).toMatchObject({ status: 200 });
  expect(finished).toMatchObject([{ name: 'GET chat', attributes: { 'server.address': '127.0.0.1' } }]);
});

test('the platform gets the traceparent of a sampled call, and of no other, and never a tracestate', async () => {
  const seen: IncomingMessage['headers'][] = [];
  const platform = await startPlatform(({ headers }, response) => {
    seen.push(headers);
    response.end('{}');
  });
  const host = hostAt(platform.url, { PLATFORMS_CA_FILE: caFile });
  const [sampled, other] = [spanOfRequest(true), spanOfRequest(false)];
  for (const { span } of [sampled, other]) {
    await requestContext.run({ requestId: 'r', route: 'none', span }, () => host.get('/'));
  }
  const [call] = sampled.finished;
  expect(call?.parentSpanId).toBe('b'.repeat(16));
  expect(seen.map(({ traceparent }) => traceparent)).toEqual([`00-${'a'.repeat(32)}-${call?.spanId}-01`, undefined]);
  expect(seen.map(({ tracestate }) => tracestate)).toEqual([undefined, undefined]);
});

test.each([
  ['a redirect', (response: ServerResponse) => response.writeHead(302, { location: '/other' }).end()],
  ['a compressed body', (response: ServerResponse) => response.end(gzipSync('{}'))],
  ['a body that is too large', (response: ServerResponse) => response.end(`"${'a'.repeat(2 * 1024 * 1024)}"`)],
  ['half a body', (response: ServerResponse) => response.writeHead(200).write('{', () => response.destroy())],
])('%s is an error', async (_, respond) => {
  const platform = await startPlatform((_request, response) => void respond(response));
  const host = hostAt(platform.url, { PLATFORMS_CA_FILE: caFile });
  await expect(host.get('/')).rejects.toMatchObject({ code: 'PLATFORM_ERROR' });
});

test('a 204 has no body, and its connection is used again', async () => {
  const sockets = new Set<unknown>();
  const platform = await startPlatform((request, response) => {
    sockets.add(request.socket);
    response.writeHead(204).end();
  });
  const host = hostAt(platform.url, { PLATFORMS_CA_FILE: caFile });
  for (const method of ['PUT', 'DELETE'] as const)
    expect(await host.call('/roles/1', { method })).toMatchObject({ status: 204, body: undefined });
  expect(sockets.size).toBe(1);
});

test('a file without a certificate is a configuration error that names the variable', () => {
  const empty = join(folder, 'empty.pem');
  writeFileSync(empty, 'nothing');
  for (const file of [empty, join(folder, 'missing.pem')])
    expect(() => platformFetch({ PLATFORMS_CA_FILE: file })).toThrow(ConfigError);
  expect(() => platformFetch({ PLATFORMS_CA_FILE: empty })).toThrow('PLATFORMS_CA_FILE cannot be used');
});

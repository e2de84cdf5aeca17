import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get, type RequestOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect as connectTls, createServer } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { AuthServiceService } from '#proto/gen/guild/auth/v1/auth.ts';
import { Authority, type Certificate, writeTlsFiles } from '#test/network/certificates.ts';
import { systemClock } from '../clock.ts';
import { GrpcChannel, isGrpcFailure } from '../grpc/client.ts';
import { GrpcServer } from '../grpc/server.ts';
import { HttpServer, type HttpServerOptions } from '../http/server.ts';
import { Breakers } from '../resilience/breaker.ts';
import { Readiness } from '../service/readiness.ts';
import { createLog, type Logger } from '../telemetry/log.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { InternalTls } from './internal-tls.ts';
import { SecretRing } from './keyring.ts';
import type { InternalTlsConfig } from './tls-identity.ts';

const HOST = '127.0.0.1';
const DAY_MS = 86_400_000;
/** The errors of a failed TLS handshake, and of a connection that is closed during it. */
const REJECTED = /alert|certificate|altname|hang up|closed|ECONNRESET|EPIPE/i;
const ring = new SecretRing(['a secret for tests of more than 32 bytes']);
const callers = { ring, names: new Set(['test']) };
const ours = new Authority('ours');
const theirs = new Authority('theirs');

const folder = mkdtempSync(join(tmpdir(), 'internal-tls-'));
let log: Logger;
const logged: string[] = [];
const stops: (() => unknown)[] = [];
let count = 0;

beforeAll(async () => {
  log = await createLog({ service: 'test', level: 'info', destination: { write: (line) => void logged.push(line) } });
});
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
  logged.length = 0;
});
afterAll(() => rmSync(folder, { recursive: true }));

function files(certificate: Certificate, ca = ours.cert): { path: string; config: InternalTlsConfig } {
  const path = join(folder, String(count++));
  mkdirSync(path);
  return { path, config: writeTlsFiles(path, certificate, ca) };
}

function tls(config: InternalTlsConfig): { tls: InternalTls; metrics: Metrics } {
  const metrics = new Metrics();
  const made = InternalTls.from(config, { metrics, log });
  if (!made) throw new Error('no files');
  stops.push(() => made.stop());
  return { tls: made, metrics };
}

async function serveHttp(config: InternalTlsConfig): Promise<{ address: string; tls: InternalTls }> {
  const { tls: own } = tls(config);
  const handler: HttpServerOptions['handler'] = (_request, response) => response.end('served');
  const server = new HttpServer({ host: HOST, port: 0, handler, tls: own });
  await server.start();
  stops.push(() => server.stop());
  return { address: server.address, tls: own };
}

async function serveGrpc(config: InternalTlsConfig): Promise<{ address: string; tls: InternalTls }> {
  const { tls: own, metrics } = tls(config);
  const parts = { readiness: new Readiness(), clock: systemClock, metrics, log, tls: own };
  const server = new GrpcServer({ service: 'auth', host: HOST, port: 0, reflection: false, ...parts });
  const verify = async () => ({ results: [] });
  server.add(
    AuthServiceService,
    { verify, watch: async () => undefined, recordUse: async () => ({}), reportRequests: async () => ({}) },
    callers,
  );
  await server.start();
  stops.push(() => server.stop());
  return { address: server.address, tls: own };
}

function fetchOver(address: string, options: RequestOptions): Promise<string> {
  const [host, port] = address.split(':');
  return new Promise((resolve, reject) => {
    const request = get({ host, port, ...options }, (response) => {
      response.setEncoding('utf8').on('data', resolve);
    });
    request.on('error', reject);
  });
}

/** The response to an HTTPS client with the certificate in these files, or without a certificate. */
function overHttp(address: string, config?: InternalTlsConfig): Promise<string> {
  const [host = '', port] = address.split(':');
  const createConnection = () => tls(config as InternalTlsConfig).tls.connect({ host, port: Number(port) });
  return fetchOver(address, config ? { createConnection } : { ca: ours.cert, agent: false });
}

function overGrpc(address: string, config?: InternalTlsConfig): Promise<unknown> {
  const metrics = new Metrics();
  const breakers = new Breakers(metrics);
  const channel = new GrpcChannel({
    caller: 'test',
    audience: 'auth',
    address,
    ring,
    clock: systemClock,
    metrics,
    breaker: breakers.create('auth', isGrpcFailure),
    deadlineMs: 1_500,
    tls: config && tls(config).tls,
  });
  stops.push(() => {
    channel.close();
    breakers.stop();
  });
  return channel.methods(AuthServiceService).verify({ keys: [] });
}

const now = Date.now();
const OUTDATED = { from: now - 2 * DAY_MS, until: now - DAY_MS };

test('processes with certificates of one CA reach each other, over HTTP and gRPC', async () => {
  const http = await serveHttp(files(ours.issue()).config);
  const grpc = await serveGrpc(files(ours.issue()).config);
  const caller = files(ours.issue({ names: ['another'] })).config;
  expect(await overHttp(http.address, caller)).toBe('served');
  expect(await overGrpc(grpc.address, caller)).toEqual({ results: [] });
});

type Rejected = [certificate: string, caller: InternalTlsConfig | undefined, service: InternalTlsConfig];

const failureOf = (request: Promise<unknown>): Promise<string> =>
  request.then(String, (error: Error & { code?: string }) =>
    error.code === 'UNAVAILABLE' ? error.code : error.message,
  );

/** Connects over HTTP and gRPC with each pair of certificates; all at the same time, because a gRPC client waits. */
async function expectRejected(cases: readonly Rejected[]): Promise<void> {
  const attempts = cases.map(async ([certificate, caller, service]) => {
    const [http, grpc] = await Promise.all([serveHttp(service), serveGrpc(service)]);
    return [
      certificate,
      await failureOf(overHttp(http.address, caller)),
      await failureOf(overGrpc(grpc.address, caller)),
    ];
  });
  const expected = cases.map(([certificate]) => [certificate, expect.stringMatching(REJECTED), 'UNAVAILABLE']);
  expect(await Promise.all(attempts)).toEqual(expected);
}

test('a client without a certificate, or with one of another CA or time, is rejected, over HTTP and gRPC', async () => {
  const service = files(ours.issue()).config;
  await expectRejected([
    ['of another CA', files(theirs.issue()).config, service],
    ['expired', files(ours.issue(OUTDATED)).config, service],
    ['not valid yet', files(ours.issue({ from: now + DAY_MS, until: now + 2 * DAY_MS })).config, service],
    ['none', undefined, service],
  ]);
});

test('a client rejects a server with a certificate of another CA, time or name, over HTTP and gRPC', async () => {
  const caller = files(ours.issue()).config;
  await expectRejected([
    ['of another CA', caller, files(theirs.issue()).config],
    ['expired', caller, files(ours.issue(OUTDATED)).config],
    ['of another name', caller, files(ours.issue({ names: ['another'] })).config],
  ]);
});

test('plain HTTP and old TLS versions get no response', async () => {
  const { address } = await serveHttp(files(ours.issue()).config);
  await expect(fetch(`http://${address}`)).rejects.toThrow('fetch failed');
  const [host, port] = address.split(':');
  const { cert, key } = ours.issue();
  const socket = connectTls({ host, port: Number(port), ca: ours.cert, cert, key, maxVersion: 'TLSv1.2' });
  const [error] = (await once(socket, 'error')) as [Error];
  expect(error.message).toMatch(/protocol version/i);
});

/** The serial number of the certificate that a server presents. */
async function shown(address: string): Promise<string> {
  const [host, port] = address.split(':');
  const { cert, key } = ours.issue();
  const socket = connectTls({ host, port: Number(port), ca: ours.cert, cert, key, ALPNProtocols: ['h2', 'http/1.1'] });
  await once(socket, 'secureConnect');
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

test('servers and clients present replaced certificates without a restart', async () => {
  const service = files(ours.issue());
  const http = await serveHttp(service.config);
  const grpc = await serveGrpc(service.config);
  const before = await shown(http.address);
  // A certificate of another CA is accepted once both sides have that CA in their bundle.
  const caller = files(theirs.issue(), theirs.cert + ours.cert);
  await expect(overHttp(http.address, caller.config)).rejects.toThrow(REJECTED);
  writeTlsFiles(service.path, ours.issue(), ours.cert + theirs.cert);
  http.tls.reload();
  grpc.tls.reload();
  const after = await shown(http.address);
  expect(after).not.toBe(before);
  expect(await shown(grpc.address)).toBe(after);
  expect(await overHttp(http.address, caller.config)).toBe('served');
  expect(await overGrpc(grpc.address, caller.config)).toEqual({ results: [] });
  expect(logged.join('')).toContain('new TLS certificate in use');
});

/** The response of a service over a separate connection. */
async function fetchRaw(own: InternalTls, host: string, port: number): Promise<string> {
  const socket = own.connect({ host, port, lookup: (_name, _options, found) => found(null, [LOOPBACK]) });
  stops.push(() => socket.destroy());
  socket.write('GET / HTTP/1.1\r\nhost: service\r\nconnection: close\r\n\r\n');
  const response = await text(socket);
  if (response === '') throw new Error('closed before a response');
  return response.split('\r\n').at(-1) ?? '';
}
const LOOPBACK = { address: '127.0.0.1', family: 4 };

test('a connection presents the newest certificate, and fails if the server has another name', async () => {
  const received: string[] = [];
  const server = createServer(tls(files(ours.issue()).config).tls.serverOptions, (socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      received.push(bytes.toString());
      socket.end('HTTP/1.1 200 OK\r\n\r\nserved');
    });
  });
  server.on('tlsClientError', () => undefined).listen(0, HOST);
  stops.push(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const caller = files(theirs.issue());
  const own = tls(caller.config).tls;
  await expect(fetchRaw(own, HOST, port)).rejects.toThrow(REJECTED);
  writeTlsFiles(caller.path, ours.issue(), ours.cert);
  own.reload();
  expect(await fetchRaw(own, HOST, port)).toBe('served');
  await expect(fetchRaw(own, 'another.example', port)).rejects.toThrow(REJECTED);
  // Data written before the certificate was verified was never sent.
  expect(received).toHaveLength(1);
});

test('files that do not match each other change nothing and are logged once, without their contents', async () => {
  const service = files(ours.issue());
  const { address, tls: own } = await serveHttp(service.config);
  const before = await shown(address);
  const { key } = ours.issue();
  writeFileSync(join(service.path, 'key.pem'), key);
  own.reload();
  own.reload();
  expect(await shown(address)).toBe(before);
  expect(logged.filter((line) => line.includes('the previous one stays in use'))).toHaveLength(1);
  expect(logged.join('')).not.toContain(key.split('\n')[1]);
  writeFileSync(join(service.path, 'key.pem'), '');
  own.reload();
  writeTlsFiles(service.path, ours.issue(), ours.cert);
  own.reload();
  expect(await shown(address)).not.toBe(before);
});

test('a certificate that TLS rejects does not replace the previous one', async () => {
  const service = files(ours.issue());
  const { address, tls: own } = await serveHttp(service.config);
  const before = await shown(address);
  writeTlsFiles(service.path, ours.issue({ isWeak: true }), ours.cert);
  own.reload();
  expect(await shown(address)).toBe(before);
  expect(logged.join('')).toContain('the previous one stays in use');
  expect(() => tls(files(ours.issue({ isWeak: true })).config)).toThrow('is not valid PEM of the expected kind');
});

test('changed files are noticed without a call', async () => {
  const service = files(ours.issue());
  const made = InternalTls.from(service.config, { metrics: new Metrics(), log, checkIntervalMs: 20 });
  stops.push(() => made?.stop());
  await made?.start();
  writeTlsFiles(service.path, ours.issue(), ours.cert);
  await expect.poll(() => logged.join('')).toContain('new TLS certificate in use');
});

test('the metrics show when the certificate expires, and the first CA', async () => {
  const until = Math.floor(now / 1000) * 1000 + 5 * DAY_MS;
  const service = files(ours.issue({ until }));
  const { tls: own, metrics } = tls(service.config);
  const lines = async () => (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('tls_'));
  expect(await lines()).toContain(`tls_certificate_expiry_timestamp_seconds{certificate="own"} ${until / 1000}`);
  expect((await lines()).join()).toMatch(/\{certificate="ca"\} \d{10}/);
  writeTlsFiles(service.path, ours.issue({ until: until + DAY_MS }), ours.cert);
  own.reload();
  const later = (until + DAY_MS) / 1000;
  expect(await lines()).toContain(`tls_certificate_expiry_timestamp_seconds{certificate="own"} ${later}`);
});

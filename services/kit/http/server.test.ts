import { once } from 'node:events';
import { Agent, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { AdminServer } from '../service/admin-server.ts';
import { Readiness } from '../service/readiness.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { HttpServer } from './server.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

async function serve(handler: (request: IncomingMessage, response: ServerResponse) => void, host = '127.0.0.1') {
  const server = new HttpServer({ host, port: 0, handler, keepAliveTimeout: 60_000 });
  await server.start();
  cleanUps.push(() => server.stop());
  return server;
}

const port = (server: { address: string }) => Number(server.address.split(':').at(-1));

async function open(server: HttpServer): Promise<Socket> {
  const socket = connect(port(server), '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

const REQUEST = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
const respond = (_request: IncomingMessage, response: ServerResponse) => void response.end('done');

/** All data that a connection receives until it is closed. */
async function untilClosed(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk) => (text += chunk.toString()));
  await new Promise<void>((resolve) => (socket.closed ? resolve() : socket.once('close', () => resolve())));
  return text;
}

test('a drain without requests in flight closes idle connections immediately', async () => {
  const server = await serve(respond);
  const socket = await open(server);
  socket.write(REQUEST);
  await once(socket, 'data');
  const started = performance.now();
  await Promise.all([server.drain(), untilClosed(socket)]);
  expect(performance.now() - started).toBeLessThan(5_000);
});

test('a drain completes the requests in flight with `connection: close`, and closes their connections', async () => {
  const release = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const server = await serve((_request, response) => {
    entered.resolve();
    void release.promise.then(() => response.end('done'));
  });
  const socket = await open(server);
  socket.write(REQUEST);
  await entered.promise;
  const drained = vi.fn<() => void>();
  const draining = server.drain().then(drained);
  expect(server.server.listening).toBe(false);
  expect(drained).not.toHaveBeenCalled();
  release.resolve();
  const text = await untilClosed(socket);
  await draining;
  expect(text).toContain('200 OK');
  expect(text.toLowerCase()).toContain('connection: close');
  expect(text).toContain('done');
});

test('a response that was started before the drain is completed, and its connection closed', async () => {
  const release = Promise.withResolvers<void>();
  const server = await serve((_request, response) => {
    response.write('begun ');
    void release.promise.then(() => response.end('done'));
  });
  const socket = await open(server);
  socket.write(REQUEST);
  await once(socket, 'data');
  const started = performance.now();
  const draining = server.drain();
  release.resolve();
  expect(await untilClosed(socket)).toContain('done');
  await draining;
  expect(performance.now() - started).toBeLessThan(5_000);
});

test('an open connection without a request does not delay a drain', async () => {
  const server = await serve(respond);
  const silent = await open(server);
  const accepted = () =>
    new Promise<number>((resolve) => server.server.getConnections((_error, count) => resolve(count)));
  await expect.poll(accepted).toBe(1);
  const started = performance.now();
  await Promise.all([untilClosed(silent), server.drain()]);
  expect(performance.now() - started).toBeLessThan(5_000);
});

test('a stop without a drain closes all connections, and may be called twice or before the start', async () => {
  const server = await serve(() => undefined);
  const socket = await open(server);
  socket.write(REQUEST);
  await expect.poll(() => socket.bytesWritten).toBe(REQUEST.length);
  await Promise.all([server.stop(), untilClosed(socket)]);
  await server.stop();
  await new HttpServer({ host: '127.0.0.1', port: 0, handler: respond }).stop();
  await new HttpServer({ host: '127.0.0.1', port: 0, handler: respond }).drain();
});

test('an error thrown by a handler, or a write after the end, closes that connection only', async () => {
  const uncaught: unknown[] = [];
  const note = (error: unknown) => void uncaught.push(error);
  process.on('uncaughtException', note);
  const failures: unknown[] = [];
  const handler = ({ url }: IncomingMessage, response: ServerResponse) => {
    if (url === '/thrown') response.writeHead(99);
    response.end('done');
    if (url === '/late') response.write('more');
  };
  const server = new HttpServer({ host: '127.0.0.1', port: 0, handler, onFailure: (error) => failures.push(error) });
  await server.start();
  cleanUps.push(() => server.stop());
  const received: string[] = [];
  for (const path of ['/thrown', '/late', '/']) {
    const socket = await open(server);
    socket.write(REQUEST.replace('/', path).replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'));
    received.push(await untilClosed(socket));
  }
  expect([received[0], received[2]?.endsWith('done')]).toEqual(['', true]);
  process.off('uncaughtException', note);
  expect(uncaught).toEqual([]);
  expect(failures).toMatchObject([{ code: 'ERR_HTTP_INVALID_STATUS_CODE' }]);
});

test('a port in use is an error; a server on all interfaces reports a loopback address', async () => {
  const server = await serve(respond, '0.0.0.0');
  expect(server.address).toMatch(/^127\.0\.0\.1:\d+$/);
  await expect(new HttpServer({ host: '0.0.0.0', port: port(server), handler: respond }).start()).rejects.toThrow(
    'EADDRINUSE',
  );
  expect((await serve(respond, '::1')).address).toMatch(/^\[::1\]:\d+$/);
});

test('the admin port serves liveness, readiness and metrics, and nothing else', async () => {
  const readiness = new Readiness();
  const metrics = new Metrics();
  const admin = new AdminServer({ host: '127.0.0.1', port: 0, readiness, metrics, admits: () => false });
  await admin.start();
  const status = async (path: string) => (await fetch(`http://${admin.address}${path}`)).status;
  expect([await status('/livez'), await status('/readyz'), await status('/metrics'), await status('/')]).toEqual([
    200, 503, 200, 404,
  ]);
  const notReady = await fetch(`http://${admin.address}/readyz`);
  expect(notReady.headers.get('retry-after')).toBe('1');
  readiness.set(true);
  expect(await status('/readyz')).toBe(200);
  readiness.set(false);
  expect([await status('/readyz'), await status('/livez')]).toEqual([503, 200]);
  const text = await (await fetch(`http://${admin.address}/metrics`)).text();
  expect(text).toMatch(/^event_loop_utilisation_ratio [01](\.\d+)?$/m);
  expect(text).toMatch(/^process_cpu_seconds_total/m);
  await admin.stop();
  await admin.stop();
});

test('the admin port stops although a client keeps its connection open', async () => {
  const admin = new AdminServer({
    host: '127.0.0.1',
    port: 0,
    readiness: new Readiness(),
    metrics: new Metrics(),
    admits: () => false,
  });
  await admin.start();
  const agent = new Agent({ keepAlive: true });
  const [response] = (await once(get({ port: port(admin), path: '/livez', agent }), 'response')) as [IncomingMessage];
  await response.toArray();
  await expect(admin.stop()).resolves.toBeUndefined();
  agent.destroy();
});

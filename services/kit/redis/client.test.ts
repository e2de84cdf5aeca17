import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startProgram } from '#local/child.ts';
import { freePorts } from '#local/ports.ts';
import { prepareRedis } from '#local/redis.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { type RedisNode, startRedisNode, startRedisSentinel } from '#test/redis/nodes.ts';
import { connectRedis, type RedisConnection } from './client.ts';

let folder: string;
let lines: string[];
let cleanups: (() => Promise<unknown>)[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'guild-data-redis-'));
  lines = [];
  cleanups = [];
});
afterEach(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
  rmSync(folder, { recursive: true, force: true });
});

async function connect(url: string, commandTimeoutMs?: number | null): Promise<RedisConnection> {
  const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) });
  const connection = connectRedis(url, { name: 'test', log, commandTimeoutMs });
  cleanups.push(() => connection.stop());
  await connection.start();
  return connection;
}

async function startNode(settings: string[], flags: string[] = []): Promise<RedisNode> {
  const node = await startRedisNode(folder, settings, flags);
  cleanups.push(() => node.stop());
  return node;
}

async function untilReady({ client }: RedisConnection, options: { timeout?: number } = {}): Promise<void> {
  await expect.poll(() => client.status, options).toBe('ready');
}

async function duration(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Commands fail immediately without a connection, because none is queued. */
async function expectRejected({ client }: RedisConnection): Promise<void> {
  expect(await duration(() => expect(client.get('key')).rejects.toThrow("isn't writeable"))).toBeLessThan(50);
}

test('commands use the database in the URL', async () => {
  const url = await testRedisUrl();
  const connection = await connect(url);
  await untilReady(connection);
  expect(await connection.client.set('key', 'value')).toBe('OK');
  const inOther = await connect(url.replace(/[0-9]+$/, '0'));
  await untilReady(inOther);
  expect(await inOther.client.exists('key')).toBe(0);
});

test('without a server start succeeds, commands are rejected immediately, and the reason is logged once', async () => {
  const [port] = await freePorts(1);
  const connection = await connect(`redis://:hunter2@127.0.0.1:${port}`);
  await expectRejected(connection);
  await expect.poll(() => lines.join('')).toContain('ECONNREFUSED');
  const attempts = vi.fn<() => void>();
  connection.client.on('connecting', attempts);
  await expect.poll(() => attempts.mock.calls.length).toBeGreaterThan(2);
  expect(lines.filter((line) => line.includes('ECONNREFUSED'))).toHaveLength(1);
  expect(lines.join('')).not.toContain('hunter2');
});

test('after a server restart the connection is back within seconds, and its loss and return are logged', async () => {
  const server = await prepareRedis({ folder });
  if (!server) throw new Error('no Redis server is installed');
  const first = await startProgram(server.program);
  const connection = await connect(server.url);
  await untilReady(connection);
  await first.stop(0);
  await expect.poll(() => lines.join('')).toContain('Redis is unavailable');
  await expectRejected(connection);
  const second = await startProgram(server.program);
  cleanups.push(() => second.stop(0));
  await untilReady(connection, { timeout: 10_000 });
  expect(await connection.client.set('key', 'value')).toBe('OK');
  expect(lines.filter((line) => line.includes('connected to Redis'))).toHaveLength(2);
});

test('a wrong password is logged as an error that does not contain it', async () => {
  const node = await startNode(['requirepass right']);
  await connect(`redis://:hunter2@127.0.0.1:${node.port}`);
  await expect.poll(() => lines.join('')).toContain('WRONGPASS');
  expect(lines.join('')).not.toContain('hunter2');
});

test('a command without a timeout to a server that hangs is rejected when the connection is replaced', async () => {
  const node = await startNode([]);
  const connection = await connect(`redis://127.0.0.1:${node.port}`, null);
  await untilReady(connection);
  process.kill(node.pid(), 'SIGSTOP');
  const taken = await duration(() => expect(connection.client.incr('key')).rejects.toThrow('max retries'));
  expect(taken).toBeGreaterThan(1_500);
  expect(taken).toBeLessThan(5_000);
  process.kill(node.pid(), 'SIGCONT');
  await untilReady(connection);
});

test('commands to a server that hangs are rejected after their timeout, and none is sent twice on the new connection', async () => {
  const node = await startNode([]);
  const connection = await connect(`redis://127.0.0.1:${node.port}`, 100);
  await untilReady(connection);
  process.kill(node.pid(), 'SIGSTOP');
  const increment = () => expect(connection.client.incr('key')).rejects.toThrow('timed out');
  expect(await duration(increment)).toBeLessThan(200);
  await expect.poll(() => connection.client.status, { timeout: 10_000 }).not.toBe('ready');
  process.kill(node.pid(), 'SIGCONT');
  await untilReady(connection);
  expect(Number(await connection.client.get('key'))).toBeLessThanOrEqual(1);
});

test('a server that accepts connections and never responds delays nothing', async () => {
  const sockets = new Set<Socket>();
  const silent: Server = createServer((socket) => sockets.add(socket.on('error', () => {})));
  const [port = 0] = await freePorts(1);
  await new Promise<void>((resolve) => silent.listen(port, '127.0.0.1', resolve));
  cleanups.push(async () => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  const connection = await connect(`redis://127.0.0.1:${port}`, 100);
  await expect.poll(() => sockets.size).toBeGreaterThan(1);
  await expectRejected(connection);
});

test('a client that ioredis gave up permanently is connected again', async () => {
  const connection = await connect(await testRedisUrl());
  await untilReady(connection);
  connection.client.disconnect();
  await expect.poll(() => connection.client.status).toBe('end');
  await untilReady(connection);
});

test('with sentinels the primary is used, and after a failover the new one', async () => {
  const { primary, replica, sentinel, url } = await startRedisSentinel(folder);
  cleanups.push(() => Promise.all([primary, replica, sentinel].map((node) => node.stop())));
  const connection = await connect(`${url}?db=1`);
  await untilReady(connection);
  await connection.client.set('key', 'value');
  const direct = await connect(`redis://:secret@127.0.0.1:${replica.port}/1`);
  await expect.poll(() => direct.client.get('key')).toBe('value');
  await primary.stop();
  await expect.poll(() => connection.client.set('key', 'after')).toBe('OK');
  expect(await direct.client.get('key')).toBe('after');
}, 45_000);

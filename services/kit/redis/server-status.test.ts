import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type RedisNode, startRedisNode } from '#test/redis/nodes.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { connectRedis } from './client.ts';
import { closest, RedisServerStatus } from './server-status.ts';

let folder: string;
let cleanups: (() => Promise<unknown>)[];
let metrics: Metrics;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'guild-data-redis-'));
  cleanups = [];
  metrics = new Metrics();
});
afterEach(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
  rmSync(folder, { recursive: true, force: true });
});

async function startNode(lines: string[]): Promise<RedisNode> {
  const node = await startRedisNode(folder, lines);
  cleanups.push(() => node.stop());
  return node;
}

async function follow(port: number): Promise<RedisServerStatus> {
  const url = `redis://127.0.0.1:${port}`;
  const connection = connectRedis(url, { name: 'test', log: pino({ level: 'silent' }), commandTimeoutMs: null });
  const status = new RedisServerStatus({ client: connection.client, metrics });
  cleanups.push(() => connection.stop());
  cleanups.push(() => status.stop());
  await status.start();
  await connection.start();
  await expect.poll(() => connection.client.status).toBe('ready');
  return status;
}

const lines = async (name: string) => (await metrics.registry.getSingleMetricAsString(name)).split('\n').slice(2);

test('the connections, the memory and the lag of replicas are shown as soon as Redis is connected', async () => {
  const primary = await startNode(['maxclients 50', 'maxmemory 64mb']);
  await startNode([`replicaof 127.0.0.1 ${primary.port}`]);
  const status = await follow(primary.port);
  await expect.poll(() => lines('redis_server_clients_max')).toEqual(['redis_server_clients_max{role="primary"} 50']);
  const [memory = ''] = await lines('redis_server_memory_max_bytes');
  expect(memory).toBe('redis_server_memory_max_bytes{role="primary"} 67108864');
  expect(Number((await lines('redis_server_clients'))[0]?.split(' ')[1])).toBeGreaterThanOrEqual(1);
  expect(Number((await lines('redis_server_memory_bytes'))[0]?.split(' ')[1])).toBeGreaterThan(100_000);
  await expect
    .poll(async () => {
      await status.update();
      return lines('redis_replication_lag_seconds');
    })
    .toEqual([expect.stringMatching(/^redis_replication_lag_seconds\{role="primary"\} [0-2]$/)]);
  expect(await lines('redis_connected')).toEqual(['redis_connected 1']);
});

test('without a limit of memory and without replicas there are no such series, and without Redis no error', async () => {
  const node = await startNode([]);
  const status = await follow(node.port);
  await expect.poll(async () => (await lines('redis_server_clients_max')).length).toBe(1);
  expect(await lines('redis_server_memory_max_bytes')).toEqual([]);
  expect(await lines('redis_replication_lag_seconds')).toEqual([]);
  await node.stop();
  await expect.poll(() => lines('redis_connected')).toEqual(['redis_connected 0']);
  await status.update();
});

test('a PING that times out is observed, so that the latency shows a Redis that hangs', async () => {
  const node = await startNode([]);
  const status = await follow(node.port);
  const count = async () =>
    Number((await lines('redis_round_trip_seconds')).find((line) => line.includes('_count'))?.split(' ')[1]);
  await expect.poll(count).toBe(1);
  process.kill(node.pid(), 'SIGSTOP');
  await status.update();
  expect(await count()).toBe(2);
});

test('the server closest to its limit is one that reported its use', () => {
  const [unknown, used] = [{}, { clients: 3 }];
  expect(closest([unknown, used], 'clients', 'maxClients')).toBe(used);
  expect(closest([used, { clients: 1, maxClients: 10 }], 'clients', 'maxClients')).toMatchObject({ clients: 1 });
  expect(closest([unknown], 'clients', 'maxClients')).toBeUndefined();
});

test('a user that may not call INFO gets the latency', async () => {
  const node = await startNode(['user default on nopass ~* &* +@all -info']);
  await follow(node.port);
  const count = async () => (await lines('redis_round_trip_seconds')).find((line) => line.includes('_count'));
  await expect.poll(count).toBe('redis_round_trip_seconds_count 1');
  expect(await lines('redis_server_clients')).toEqual([]);
});

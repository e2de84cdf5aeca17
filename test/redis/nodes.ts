import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type Child, startChild, untilReady } from '#local/child.ts';
import { freePorts } from '#local/ports.ts';
import { redisProgram } from '#local/redis.ts';

export type RedisNode = {
  port: number;
  pid(): number;
  /** Kills it immediately, even while it is suspended. */
  stop(): Promise<void>;
  /** Starts it again on its port, with the files that it has on disk. */
  start(): Promise<void>;
};

/**
 * Starts a server with these lines of configuration, for roles that the shared server of the tests cannot have: a node
 * of a cluster, a replica, a sentinel.
 */
export async function startRedisNode(folder: string, lines: string[], flags: string[] = []): Promise<RedisNode> {
  const program = redisProgram();
  if (program === undefined) throw new Error('no Redis server is installed');
  const [port = 0] = await freePorts(1);
  const home = join(folder, String(port));
  mkdirSync(home, { recursive: true });
  const file = join(home, 'redis.conf');
  writeFileSync(file, ['bind 127.0.0.1', `port ${port}`, `dir ${home}`, 'save ""', ...lines, ''].join('\n'));
  let child = await startServer([program, file, ...flags], home, port);
  return {
    port,
    pid: () => child.pid,
    stop: async () => {
      await child.stop(0);
    },
    start: async () => {
      child = await startServer([program, file, ...flags], home, port);
    },
  };
}

async function startServer(command: [string, ...string[]], home: string, port: number): Promise<Child> {
  const child = await startChild({ command, output: (text) => appendFileSync(join(home, 'redis.log'), text) });
  await untilReady(child, () => isListening(port), 10_000);
  return child;
}

const SLOTS = 16_384;

/** A cluster of masters, each with an equal part of the slots. */
export async function startRedisCluster(folder: string, masters: number): Promise<RedisNode[]> {
  const busPorts = await freePorts(masters);
  const nodes = await Promise.all(
    busPorts.map((port) => startRedisNode(folder, ['cluster-enabled yes', `cluster-port ${port}`])),
  );
  const clients = nodes.map(({ port }) => new Redis(port, '127.0.0.1'));
  const firstSlot = (index: number) => Math.round((index * SLOTS) / masters);
  try {
    for (const [index, client] of clients.entries()) {
      await client.call('CLUSTER', 'ADDSLOTSRANGE', firstSlot(index), firstSlot(index + 1) - 1);
      // Without distinct epochs the nodes would have to agree on them first.
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
      await clients[0]?.call('CLUSTER', 'MEET', '127.0.0.1', nodes[index]?.port ?? 0, busPorts[index] ?? 0);
    }
    for (const client of clients) await untilWhole(client, masters);
    return nodes;
  } finally {
    for (const client of clients) client.disconnect();
  }
}

export type SentinelSystem = { primary: RedisNode; replica: RedisNode; sentinel: RedisNode; url: string };

/**
 * A primary, an up-to-date replica, and a sentinel that promotes the replica after half a second without the primary.
 */
export async function startRedisSentinel(folder: string): Promise<SentinelSystem> {
  const settings = ['requirepass secret', 'masterauth secret'];
  const primary = await startRedisNode(folder, settings);
  const replicaSettings = [`replicaof 127.0.0.1 ${primary.port}`, 'repl-diskless-sync-delay 0'];
  const replica = await startRedisNode(folder, [...settings, ...replicaSettings]);
  const sentinel = await startRedisNode(
    folder,
    [
      `sentinel monitor guild 127.0.0.1 ${primary.port} 1`,
      'sentinel auth-pass guild secret',
      'sentinel down-after-milliseconds guild 500',
      'sentinel failover-timeout guild 3000',
    ],
    ['--sentinel'],
  );
  const client = new Redis(sentinel.port, '127.0.0.1');
  try {
    await until('the sentinel knows a good replica', async () =>
      JSON.stringify(await client.call('SENTINEL', 'REPLICAS', 'guild')).includes('"master-link-status","ok"'),
    );
  } finally {
    client.disconnect();
  }
  return { primary, replica, sentinel, url: `redis+sentinel://:secret@127.0.0.1:${sentinel.port}/guild` };
}

async function untilWhole(client: Redis, masters: number): Promise<void> {
  await until('the cluster is whole', async () => {
    const info = String(await client.call('CLUSTER', 'INFO'));
    return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${masters}\r`);
  });
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`20 s went by until ${what}`);
    await pause(50);
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => settle(true)).once('error', () => settle(false));
  });
}

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
  /** Kills it at once, also where it was told to stand still. */
  stop(): Promise<void>;
  /** Starts it again on its port, with what it has on disk. */
  start(): Promise<void>;
};

/**
 * Starts a server with these lines of configuration, for what the shared server of the tests can't be: a node of a
 * cluster, a replica, a sentinel.
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

/** Two nodes that have half of the slots each. */
export async function startRedisCluster(folder: string): Promise<RedisNode[]> {
  const busPorts = await freePorts(2);
  const nodes = await Promise.all(
    busPorts.map((port) => startRedisNode(folder, ['cluster-enabled yes', `cluster-port ${port}`])),
  );
  const clients = nodes.map(({ port }) => new Redis(port, '127.0.0.1'));
  try {
    await clients[0]?.call('CLUSTER', 'ADDSLOTSRANGE', 0, 8191);
    await clients[1]?.call('CLUSTER', 'ADDSLOTSRANGE', 8192, 16383);
    await clients[0]?.call('CLUSTER', 'MEET', '127.0.0.1', nodes[1]?.port ?? 0, busPorts[1] ?? 0);
    for (const client of clients) await untilWhole(client);
    return nodes;
  } finally {
    for (const client of clients) client.disconnect();
  }
}

async function untilWhole(client: Redis): Promise<void> {
  const deadline = Date.now() + 15_000;
  while (!String(await client.call('CLUSTER', 'INFO')).includes('cluster_state:ok')) {
    if (Date.now() > deadline) throw new Error('the cluster did not become whole within 15 s');
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

import { closeSync, openSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { type Child, findProgram, startChild, untilReady } from './child.ts';
import { lastLines, privateFolder } from './files.ts';
import { freePorts } from './ports.ts';

export type RedisServer = { url: string; port: number; start(): Promise<Child> };
export type RunningRedis = { url: string; pid: number; stop(): Promise<void> };

const START_PATIENCE = 10_000;
const STOP_PATIENCE = 3_000;

/** The Redis or Valkey server that this machine has, if any. */
export function redisProgram(): string | undefined {
  return findProgram('redis-server') ?? findProgram('valkey-server');
}

/** Starts a private server that keeps nothing on disk; null where the machine has none. */
export async function startRedis(options: { folder: string; databases?: number }): Promise<RunningRedis | null> {
  const server = await prepareRedis(options);
  if (server === null) return null;
  const child = await server.start();
  return {
    url: server.url,
    pid: child.pid,
    stop: async () => {
      await child.stop(STOP_PATIENCE);
    },
  };
}

/** Says how a private server is started, also again on the same port after it died; null where there is none. */
export async function prepareRedis(options: { folder: string; databases?: number }): Promise<RedisServer | null> {
  const program = redisProgram();
  if (program === undefined) return null;
  privateFolder(options.folder);
  const [port = 0] = await freePorts(1);
  const settings: Record<string, string> = {
    bind: '127.0.0.1',
    port: String(port),
    daemonize: 'no',
    dir: options.folder,
    // Counters and caches alone are kept here: all of it may be lost.
    save: '',
    appendonly: 'no',
    databases: String(options.databases ?? 16),
    loglevel: 'warning',
  };
  const parameters = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const log = join(options.folder, 'redis.log');
  const start = async (): Promise<Child> => {
    const output = openSync(log, 'w', 0o600);
    try {
      const child = await startChild({ command: [program, ...parameters], output });
      await accepting(child, port, log);
      return child;
    } finally {
      closeSync(output);
    }
  };
  return { url: `redis://127.0.0.1:${port}`, port, start };
}

async function accepting(child: Child, port: number, log: string): Promise<void> {
  try {
    await untilReady(child, () => answers(port), START_PATIENCE);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`Redis could not be started: ${reason}.\n${lastLines(log, 10)}`, { cause: error });
  }
}

/** Whether a server answers PING, which it does not while it is loading. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port, timeout: 1000 });
    const settle = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (data) => settle(data.toString('latin1').startsWith('+PONG')));
    socket.once('error', () => settle(false));
    socket.once('timeout', () => settle(false));
    socket.once('close', () => settle(false));
  });
}

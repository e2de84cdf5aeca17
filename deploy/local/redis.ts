import { createConnection } from 'node:net';
import { join } from 'node:path';
import { type Child, findProgram, type Program, startChild, startProgram, untilReady } from './child.ts';
import { privateFolder, writePrivately } from './files.ts';
import { LogFile } from './logs.ts';
import { freePorts } from './ports.ts';

export type RedisOptions = {
  folder: string;
  /** The password for clients, letters and digits; without it every user of this machine may connect. */
  password?: string;
  /** The number of logical databases. */
  databases?: number;
  /** Receives its messages; a file in the folder by default. */
  log?: LogFile;
};

export type RunningRedis = { url: string; pid: number; stop(): Promise<void> };

const START_PATIENCE = 10_000;
const STOP_PATIENCE = 3_000;

/** The path of the Redis or Valkey server of this machine, if it has one. */
export function redisProgram(): string | undefined {
  return findProgram('redis-server') ?? findProgram('valkey-server');
}

/** Starts a private server that stores nothing on disk. Returns null if no server program is installed. */
export async function startRedis(options: RedisOptions): Promise<RunningRedis | null> {
  const prepared = await prepareRedis(options);
  if (prepared === null) return null;
  const child = await startProgram(prepared.program);
  return {
    url: prepared.url,
    pid: child.pid,
    stop: async () => {
      await child.stop(STOP_PATIENCE);
    },
  };
}

/** Returns the program of a private server, which always uses the same port; null if none is installed. */
export async function prepareRedis(options: RedisOptions): Promise<{ url: string; program: Program } | null> {
  const server = redisProgram();
  if (server === undefined) return null;
  privateFolder(options.folder);
  const log = options.log ?? new LogFile(join(options.folder, 'redis.log'));
  const [port = 0] = await freePorts(1);
  const settings: Record<string, string> = {
    bind: '127.0.0.1',
    port: String(port),
    daemonize: 'no',
    dir: options.folder,
    // Redis only holds counters and caches, which may be lost.
    save: '',
    appendonly: 'no',
    databases: String(options.databases ?? 16),
    loglevel: 'warning',
  };
  const { password } = options;
  if (password !== undefined) settings['requirepass'] = password;
  // A file, because every user of the machine can read the arguments of a process.
  const file = join(options.folder, 'redis.conf');
  const lines = Object.entries(settings).map(([name, value]) => `${name} ${JSON.stringify(value)}\n`);
  writePrivately(file, lines.join(''));
  const program: Program = {
    name: 'Redis',
    spawn: () => startChild({ command: [server, file], output: (text) => log.write(text) }),
    ready: (child) => accepting(child, { port, password }, log),
  };
  const credentials = password === undefined ? '' : `:${password}@`;
  return { url: `redis://${credentials}127.0.0.1:${port}`, program };
}

type Access = { port: number; password: string | undefined };

async function accepting(child: Child, access: Access, log: LogFile): Promise<void> {
  try {
    await untilReady(child, () => answers(access), START_PATIENCE);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`Redis could not be started: ${reason}.\n${log.lastLines(10)}`, { cause: error });
  }
}

/** True if a server responds to PING, which it does not do while it is loading. */
function answers({ port, password }: Access): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port, timeout: 1000 });
    const settle = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    let received = '';
    socket.once('connect', () => socket.write(`${password === undefined ? '' : `AUTH ${password}\r\n`}PING\r\n`));
    socket.on('data', (data) => {
      received += data.toString('latin1');
      if (/^\+PONG/m.test(received)) settle(true);
      else if (/^-/m.test(received)) settle(false);
    });
    socket.once('error', () => settle(false));
    socket.once('timeout', () => settle(false));
    socket.once('close', () => settle(false));
  });
}

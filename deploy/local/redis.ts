import { createConnection } from 'node:net';
import { join } from 'node:path';
import { type Child, findProgram, type Program, startChild, startProgram, untilReady } from './child.ts';
import { privateFolder, writePrivately } from './files.ts';
import { LogFile } from './logs.ts';
import { freePorts } from './ports.ts';

export type RedisOptions = {
  folder: string;
  /** What clients sign in with; without it everybody on this machine may. Letters and digits. */
  password?: string;
  /** How many logical databases there are. */
  databases?: number;
  /** Where its messages go; left out, a file in the folder. */
  log?: LogFile;
};

export type RunningRedis = { url: string; pid: number; stop(): Promise<void> };

const START_PATIENCE = 10_000;
const STOP_PATIENCE = 3_000;

/** The Redis or Valkey server that this machine has, if any. */
export function redisProgram(): string | undefined {
  return findProgram('redis-server') ?? findProgram('valkey-server');
}

/** Starts a private server that keeps nothing on disk; null where the machine has none. */
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

/** Says how a private server is started, always on the same port; null where the machine has none. */
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
    // Counters and caches alone are kept here: all of it may be lost.
    save: '',
    appendonly: 'no',
    databases: String(options.databases ?? 16),
    loglevel: 'warning',
  };
  const { password } = options;
  if (password !== undefined) settings['requirepass'] = password;
  // A file, since every user of the machine sees the arguments of a program.
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

/** Whether a server answers PING, which it does not while it is loading. */
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

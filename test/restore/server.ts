import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { type Child, startChild, untilReady } from '#local/child.ts';
import { freePorts } from '#local/ports.ts';
import { bareEnvironment, type Installation, runProgram, serverUser } from './installation.ts';

const SUPERUSER = 'postgres';
export const PASSWORD = 'restore-drill';
const READY_MS = 120_000;
const STOP_MS = 20_000;
const SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  timezone: 'UTC',
  log_timezone: 'UTC',
  wal_level: 'replica',
};

export interface ServerOptions {
  settings?: Record<string, string>;
  /** An empty file in the data folder that makes the server recover, or follow another one, when it starts. */
  signal?: 'recovery.signal' | 'standby.signal';
  /** A free port by default. */
  port?: number;
}

/** A folder that the user of the servers may write. */
export function createServerFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'guild-data-restore-'));
  own(folder);
  return folder;
}

/** A PostgreSQL server of an installation, with its data in a folder of its own. */
export class Server {
  readonly installation: Installation;
  readonly folder: string;
  readonly port: number;
  readonly #options: ServerOptions;
  #child: Child | undefined;
  #log = '';

  private constructor(installation: Installation, folder: string, port: number, options: ServerOptions) {
    this.installation = installation;
    this.folder = folder;
    this.port = port;
    this.#options = options;
  }

  /** Starts a new server without data. */
  static async create(installation: Installation, folder: string, options: ServerOptions = {}): Promise<Server> {
    const passwordFile = `${folder}.password`;
    writeFileSync(passwordFile, PASSWORD);
    own(passwordFile);
    const locale = ['--encoding', 'UTF8', '--locale', 'C'];
    const access = ['--username', SUPERUSER, '--pwfile', passwordFile, '--auth', 'scram-sha-256'];
    await runProgram(installation, 'initdb', ['--pgdata', folder, ...locale, ...access, '--no-instructions']);
    return Server.start(installation, folder, options);
  }

  /** Starts a server on existing data, such as a base backup. */
  static async start(installation: Installation, folder: string, options: ServerOptions = {}): Promise<Server> {
    const [free = 0] = options.port === undefined ? await freePorts(1) : [];
    const server = new Server(installation, folder, options.port ?? free, options);
    await server.#start();
    return server;
  }

  /** The URL of a database, by default for the superuser. */
  url(database: string, user = SUPERUSER): string {
    return `postgres://${user}:${PASSWORD}@127.0.0.1:${this.port}/${database}`;
  }

  /** What the server has logged. */
  get log(): string {
    return this.#log;
  }

  /** Ends the server as a power failure would. */
  async kill(): Promise<void> {
    if (!this.#child || this.#child.exit()) return;
    process.kill(this.#child.pid, 'SIGKILL');
    await this.#child.exited;
  }

  async stop(): Promise<void> {
    await this.#child?.stop(STOP_MS);
  }

  /** Writes a base backup of the running server into a new folder. */
  async copyTo(folder: string): Promise<void> {
    const parameters = [`--pgdata=${folder}`, `--dbname=${this.url('postgres')}`, '--checkpoint=fast'];
    await runProgram(this.installation, 'pg_basebackup', parameters);
  }

  /** Starts the server again on its data, after `kill` or `stop`. */
  startAgain(): Promise<void> {
    return this.#start();
  }

  async #start(): Promise<void> {
    const { settings, signal } = this.#options;
    if (signal) {
      const file = join(this.folder, signal);
      writeFileSync(file, '');
      own(file);
    }
    const parameters = { ...SETTINGS, port: String(this.port), ...settings };
    const options = Object.entries(parameters).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    this.#child = await startChild({
      command: [join(this.installation.folder, 'postgres'), '-D', this.folder, ...options],
      environment: bareEnvironment(),
      owner: serverUser(),
      output: (text) => (this.#log += text),
      // PostgreSQL's fast shutdown.
      stopSignal: 'SIGINT',
      orphanSignal: 'SIGINT',
    });
    try {
      await untilReady(this.#child, () => this.#isReady(), READY_MS);
    } catch (error) {
      throw new Error(`PostgreSQL did not start: ${this.#log}`, { cause: error });
    }
  }

  /** True once the server accepts queries; a server that recovers up to a moment must also accept writes. */
  async #isReady(): Promise<boolean> {
    const client = new Client({ connectionString: this.url('postgres'), connectionTimeoutMillis: 2_000 });
    client.on('error', () => {});
    try {
      await client.connect();
      const { rows } = await client.query<{ recovers: boolean }>('SELECT pg_is_in_recovery() AS recovers');
      return this.#options.signal !== 'recovery.signal' || rows[0]?.recovers === false;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** Creates a folder that the user of the servers may write, and nobody else may read. */
export function createFolder(folder: string): string {
  mkdirSync(folder);
  own(folder);
  return folder;
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/** Gives a file or folder to the user of the servers, and nobody else may read it. */
export function own(path: string): void {
  const user = serverUser();
  if (user) chownSync(path, user.uid, user.gid);
  chmodSync(path, 0o700);
}

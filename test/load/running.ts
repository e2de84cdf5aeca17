import { readFileSync } from 'node:fs';
import { connect as connectTo } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { systemClock } from '#kit/clock.ts';
import { ROOT } from '#kit/files.ts';
import { SecretRing } from '#kit/security/keyring.ts';
import { type Child, type Command, startChild, untilReady } from '#local/child.ts';
import { freePorts } from '#local/ports.ts';
import { type RunningPostgres, startPostgres } from '#local/postgres.ts';
import { DEPLOYABLES } from '#local/processes.ts';
import type { Up } from '#local/system.ts';
import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { connect } from '#test/network/grpc.ts';

const START_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 15_000;

/** Durable as by default. Autovacuum is off, so that it does not disturb measurements. */
const SETTINGS = { shared_buffers: '1GB', maintenance_work_mem: '512MB', max_wal_size: '4GB', autovacuum: 'off' };

/** An additional process of a service. */
export interface Replica {
  child: Child;
  /** The port of its public or HTTP listener. */
  port: number;
  /** The base URL of its admin listener. */
  admin: string;
}

/** The whole system as `npm start` runs it, on a PostgreSQL with its own settings. */
export class RunningSystem {
  readonly #folder: string;
  readonly #settings: Record<string, string>;
  #postgres!: RunningPostgres;
  #program!: Child;
  up!: Up;

  constructor(folder: string, settings: Readonly<Record<string, string>> = {}) {
    this.#folder = folder;
    this.#settings = { ...SETTINGS, ...settings };
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#postgres = await startPostgres({ folder: join(this.#folder, 'postgres'), settings: this.#settings, signal });
    const data = join(this.#folder, 'data');
    this.#program = await startProcess({
      command: [process.execPath, join(ROOT, 'deploy/local/start.ts')],
      environment: {
        ...process.env,
        DATA_DIR: data,
        DATABASE_URL: this.#postgres.url,
        GATEWAY_PORT: '0',
        // Failures count by address, so each request forwards another address.
        TRUSTED_PROXIES: '127.0.0.1/32',
      },
      isReady: async () => {
        const up = readUp(join(data, 'up.json'));
        if (up) this.up = up;
        return up !== undefined;
      },
    });
  }

  get databaseUrl(): string {
    return this.#postgres.url;
  }

  get ring(): SecretRing {
    return new SecretRing([this.#secret('internal')]);
  }

  /** The process IDs of all services, PostgreSQL and Redis, by name. */
  async processes(): Promise<Record<string, number>> {
    const pids = Object.fromEntries(Object.entries(this.up.services).map(([name, { pid }]) => [name, pid]));
    return { ...pids, postgres: this.#postgres.pid, redis: await this.#redisPid() };
  }

  admin() {
    const address = (this.up.services['auth']?.grpc ?? '').replace('http://', '');
    return connect(KeyAdminServiceService, 'auth', address, systemClock, [this.#secret('admin')]);
  }

  /**
   * Starts one more process of a service, with the same environment except its ports and `overrides`. `repository` is the
   * folder of its source, which may be another version.
   */
  async startReplica(name: string, overrides: NodeJS.ProcessEnv = {}, repository = ROOT): Promise<Replica> {
    const pid = this.up.services[name]?.pid;
    const inherited = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
    const environment = Object.fromEntries(inherited.map((line) => line.split(/=(.*)/s).slice(0, 2)));
    const [port = 0, grpc = 0, adminPort = 0] = await freePorts(3);
    const ports = { GATEWAY_PORT: port, HTTP_PORT: port, GRPC_PORT: grpc, ADMIN_PORT: adminPort };
    const admin = `http://127.0.0.1:${adminPort}`;
    const main = DEPLOYABLES.find((deployable) => deployable.name === name)?.main ?? '';
    const child = await startProcess({
      command: [process.execPath, ...profiling(), join(repository, main)],
      environment: {
        ...environment,
        ...Object.fromEntries(Object.entries(ports).map(([variable, value]) => [variable, String(value)])),
        ...overrides,
      },
      isReady: async () => (await fetch(`${admin}/readyz`).catch(() => undefined))?.ok ?? false,
    });
    return { child, port, admin };
  }

  async stop(): Promise<void> {
    await this.#program?.stop(STOP_TIMEOUT_MS);
    await this.#postgres?.stop();
  }

  async #redisPid(): Promise<number> {
    if (!this.up.redis) throw new Error('the benchmark needs Redis for the limits: install redis-server');
    const redis = new Redis(this.up.redis);
    try {
      return Number(/process_id:(\d+)/.exec(await redis.info('server'))?.[1]);
    } finally {
      redis.disconnect();
    }
  }

  #secret(name: string): string {
    return readFileSync(join(this.#folder, 'data/secrets', name), 'utf8').trim();
  }
}

/** BENCH_PROFILE=folder makes each replica write a CPU profile to that folder when it ends. */
function profiling(): string[] {
  const folder = process.env['BENCH_PROFILE'];
  return folder ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : [];
}

/** Starts a process. If it does not become ready, the error contains its output. */
export async function startProcess({
  isReady,
  ...command
}: Omit<Command, 'output'> & { isReady: () => Promise<boolean> }): Promise<Child> {
  let printed = '';
  const output = (text: string) => {
    printed = (printed + text).slice(-4_000);
  };
  const child = await startChild({ ...command, output });
  try {
    await untilReady(child, isReady, START_TIMEOUT_MS);
  } catch (cause) {
    throw new Error(`${command.command.join(' ')} did not start:\n${printed}`, { cause });
  }
  return child;
}

/** Returns true if a process listens on a port of this machine. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectTo(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

function readUp(file: string): Up | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Up;
  } catch {
    return undefined;
  }
}

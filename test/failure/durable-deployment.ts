import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, type Program, startProgram } from '#local/child.ts';
import { preparePostgres } from '#local/postgres.ts';
import { DEPLOYABLES } from '#local/processes.ts';
import { migrateAll } from '../../deploy/migrate.ts';
import { testRedisUrl } from '../redis/database.ts';
import { Deployment } from './deployment.ts';

const STOP_MS = 8_000;

/** All processes that `killAndRestart` can kill. */
export const KILLABLE = ['postgres', ...DEPLOYABLES.map(({ name }) => name)] as const;

/** Every deployable as one process, on a PostgreSQL of their own that keeps what was acknowledged when it is killed. */
export class DurableDeployment {
  readonly #folder = mkdtempSync(join(tmpdir(), 'guild-data-durable-'));
  #program!: Program;
  #postgres: Child | undefined;
  deployment!: Deployment;
  databaseUrl = '';

  /** `environment` has further variables of all processes. */
  async start(guilds: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<this> {
    // Settings as in production: acknowledged writes are on disk.
    const { url, program } = await preparePostgres({ folder: join(this.#folder, 'postgres') });
    this.databaseUrl = url;
    this.#program = program;
    this.#postgres = await startProgram(program);
    await migrateAll(url);
    const redisUrl = await testRedisUrl();
    this.deployment = new Deployment({ databaseUrl: url, redisUrl, replicas: 1, guilds, environment });
    await this.deployment.start();
    return this;
  }

  async stop(): Promise<void> {
    await this.deployment?.stop();
    await this.#postgres?.stop(STOP_MS);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Kills it with SIGKILL and starts it again; `name` is in KILLABLE. */
  async killAndRestart(name: string): Promise<void> {
    if (name === 'postgres') {
      const { pid, exited } = this.#postgres as Child;
      process.kill(pid, 'SIGKILL');
      await exited;
      this.#postgres = await startProgram(this.#program);
      return;
    }
    await this.kill(name);
    await this.deployment.startReplica(name);
  }

  /** Kills the process of a deployable. */
  async kill(name: string): Promise<void> {
    const [replica] = this.deployment.replicasOf(name);
    if (replica) await this.deployment.kill(replica);
  }
}

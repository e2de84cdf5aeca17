import { pino } from 'pino';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { DatabaseTime } from '#test/postgres/database-time.ts';
import { type Database, openDatabase } from '../postgres/pool.ts';
import { Metrics } from '../telemetry/metrics.ts';
import type { QueueDefinition, QueueItem, QueueTable } from './definition.ts';
import { QueueWorker } from './worker.ts';

export const GUILD = '900000000000000001';
export const OTHER_GUILD = '900000000000000002';
export const LIMITS = { maxAttempts: 3, maxOutageSeconds: 3_600 };

export const TASKS: QueueTable = { name: 'fleet.tasks', id: 'id', idType: 'bigint', data: 'taken.what' };

export interface Task {
  what: string;
}
type TaskQueue = QueueDefinition<Task>;

/** A real table of tasks, and workers on it as several processes would be. */
export class QueueFixture {
  testDatabase!: TestDatabase;
  database!: Database;
  time!: DatabaseTime;
  readonly metrics = new Metrics();
  readonly log = pino({ level: 'silent' });
  /** What was handled, in order. */
  readonly handled: string[] = [];
  /** What handling a task does instead of succeeding. */
  readonly behaviour = new Map<string, () => unknown>();
  #workers: QueueWorker[] = [];
  #pools: Database[] = [];

  async start(): Promise<void> {
    this.testDatabase = await createTestDatabase();
    this.time = await DatabaseTime.control(this.testDatabase.url);
    this.database = this.openPool();
    await this.database.query('CREATE SCHEMA fleet');
    await this.database.query(
      `CREATE TABLE fleet.tasks (guild_id text COLLATE "C" NOT NULL, id bigint GENERATED ALWAYS AS IDENTITY, what text,
         state text NOT NULL DEFAULT 'queued', attempts integer NOT NULL DEFAULT 0,
         run_at timestamptz NOT NULL DEFAULT clock_timestamp(), leased_until timestamptz,
         queued_at timestamptz NOT NULL DEFAULT clock_timestamp(), finished_at timestamptz, last_error text,
         PRIMARY KEY (guild_id, id))`,
    );
  }

  async stop(): Promise<void> {
    await this.stopWorkers();
    for (const pool of this.#pools) await pool.close();
    await this.testDatabase.drop();
  }

  /** Nothing is queued and nobody works. */
  async reset(): Promise<void> {
    await this.stopWorkers();
    await this.database.query('TRUNCATE fleet.tasks');
    this.handled.length = 0;
    this.behaviour.clear();
  }

  async stopWorkers(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.drain()));
    this.#workers = [];
  }

  openPool(): Database {
    const { metrics, log } = this;
    const pool = openDatabase({ url: this.testDatabase.url, poolMax: 5, name: 'queue-test', metrics, log });
    this.#pools.push(pool);
    return pool;
  }

  definition(own: Partial<TaskQueue> = {}): TaskQueue {
    return {
      name: 'tasks',
      table: TASKS,
      ordered: true,
      concurrency: 4,
      leaseMs: 5_000,
      handleMs: 3_000,
      handle: async (item) => this.#handle(item),
      ...own,
    };
  }

  async #handle({ data }: QueueItem<Task>): Promise<void> {
    const what = data.what;
    this.handled.push(what);
    await this.behaviour.get(what)?.();
  }

  /** A worker of another process. */
  async startWorker(own: Partial<TaskQueue> = {}, limits = LIMITS): Promise<QueueWorker> {
    const { metrics, log, database } = this;
    const worker = new QueueWorker([this.definition(own)], { database, limits, metrics, log });
    this.#workers.push(worker);
    await worker.start();
    return worker;
  }

  /** The ID of a new task. */
  async enqueue(what: string, guildId = GUILD): Promise<string> {
    const [row] = await this.database.query<{ id: string }>(
      'INSERT INTO fleet.tasks (guild_id, what) VALUES ($1, $2) RETURNING id::text AS id',
      [guildId, what],
    );
    return row?.id ?? '';
  }

  /** A task's row. */
  async task(what: string): Promise<Record<string, unknown>> {
    const [row] = await this.database.query(
      'SELECT *, run_at - clock_timestamp() > $2::interval AS later FROM fleet.tasks WHERE what = $1',
      [what, '1 second'],
    );
    return row ?? {};
  }

  async state(what: string): Promise<unknown> {
    return (await this.task(what))['state'];
  }
}

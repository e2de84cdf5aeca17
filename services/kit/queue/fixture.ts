import { pino } from 'pino';
import { test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { DatabaseTime } from '#test/postgres/database-time.ts';
import { type Database, openDatabase } from '../postgres/pool.ts';
import { Metrics } from '../telemetry/metrics.ts';
import type { ClaimedItem, QueueDefinition, QueueLimits, QueueTable } from './definition.ts';
import { QueueWorker } from './worker.ts';

export const GUILD = '900000000000000001';
export const OTHER_GUILD = '900000000000000002';
export const LIMITS = { maxAttempts: 3, maxOutageSeconds: 3_600 };

export const TASKS: QueueTable = { name: 'fleet.tasks', id: 'id', idType: 'bigint', data: 'taken.what' };

/** Settings for a test queue whose leases are renewed, because its handler has no maximum duration. */
export const RENEWING = { table: { ...TASKS, holder: 'holder' }, handleMs: undefined } as const;

/**
 * Settings for a test queue in which, in all processes together, at most one task of a guild whose name begins with
 * "alone" is in flight.
 */
export const ALONE = { ...RENEWING, table: { ...RENEWING.table, oneLeasedPerGuild: 'tasks_running' } } as const;

export interface Task {
  what: string;
}
type TaskQueue = QueueDefinition<Task>;

/** A test queue: a real table of tasks, and several workers that act like separate processes. */
export class QueueFixture {
  testDatabase!: TestDatabase;
  database!: Database;
  time!: DatabaseTime;
  readonly metrics = new Metrics();
  readonly log = pino({ level: 'silent' });
  /** The names of the handled tasks, in the order of handling. */
  readonly handled: string[] = [];
  /** By task name, a function that the handler calls before it succeeds, for example to fail or to wait. */
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
         run_at timestamptz NOT NULL DEFAULT clock_timestamp(), leased_until timestamptz, holder uuid,
         queued_at timestamptz NOT NULL DEFAULT clock_timestamp(), finished_at timestamptz, last_error text,
         PRIMARY KEY (guild_id, id)) WITH (fillfactor = 50)`,
    );
    const open = "WHERE finished_at IS NULL AND state = 'queued'";
    for (const [name, columns] of [
      ['tasks_queued', `(guild_id, id) ${open}`],
      ['tasks_due', `(guild_id, run_at) ${open}`],
      ['tasks_queued_at', `(queued_at) ${open}`],
      ['tasks_dead', "(guild_id, id) WHERE state = 'dead'"],
    ]) {
      await this.database.query(`CREATE INDEX ${name} ON fleet.tasks ${columns}`);
    }
    const held = "(guild_id) WHERE holder IS NOT NULL AND finished_at IS NULL AND what LIKE 'alone%'";
    await this.database.query(`CREATE UNIQUE INDEX tasks_running ON fleet.tasks ${held}`);
  }

  async stop(): Promise<void> {
    await this.stopWorkers();
    for (const pool of this.#pools) await pool.close();
    await this.testDatabase.drop();
  }

  /** Stops all workers and empties the queue. */
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

  /** Moves the clock, and lets the workers look for items that have become due instead of waiting for their next poll. */
  async pass(milliseconds: number): Promise<void> {
    await this.time.advance(milliseconds);
    for (const worker of this.#workers) worker.wake();
  }

  openPool(url = this.testDatabase.url): Database {
    const { metrics, log } = this;
    const pool = openDatabase({ url, poolMax: 5, name: 'queue-test', metrics, log });
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

  async #handle({ data }: ClaimedItem<Task>): Promise<void> {
    const what = data.what;
    this.handled.push(what);
    await this.behaviour.get(what)?.();
  }

  /** Starts a further worker on the table, as another process would. */
  async startWorker(
    own: Partial<TaskQueue> = {},
    limits: QueueLimits = LIMITS,
    database = this.database,
  ): Promise<QueueWorker> {
    const { metrics, log } = this;
    const worker = new QueueWorker([this.definition(own)], { database, limits, metrics, log });
    this.#workers.push(worker);
    await worker.start();
    return worker;
  }

  /** Inserts a task and returns its ID. */
  async enqueue(what: string, guildId = GUILD): Promise<string> {
    const [row] = await this.database.query<{ id: string }>(
      'INSERT INTO fleet.tasks (guild_id, what) VALUES ($1, $2) RETURNING id::text AS id',
      [guildId, what],
    );
    return row?.id ?? '';
  }

  /** Inserts `count` tasks named `prefix` and a number. */
  async enqueueMany(count: number, guildId = GUILD, prefix = 'task'): Promise<void> {
    await this.database.query(
      `INSERT INTO fleet.tasks (guild_id, what) SELECT $1, $3 || ' ' || n FROM generate_series(1, $2::int) n`,
      [guildId, count, prefix],
    );
  }

  /** Reads the row of a task. */
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

/** A test with a queue of its own, which may run at the same time as others if it uses `expect` of its context. */
export const testWithQueue = test.extend<{ fixture: QueueFixture }>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads the names of the fixtures that this one needs
  fixture: async ({}, use) => {
    const fixture = new QueueFixture();
    await fixture.start();
    await use(fixture);
    await fixture.stop();
  },
});

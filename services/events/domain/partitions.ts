import { setTimeout as wait } from 'node:timers/promises';
import type { LoopLease } from '#kit/leases/loop-leases.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import { createPartitions, dropExpiredPartition, forgetExpiredDays, partitionStats } from '../store/partitions.ts';
import type { EventsTelemetry } from '../telemetry/log.ts';

/** The number of days for which partitions are created ahead. */
const DAYS_AHEAD = 7;
const SWEEP_EVERY_MS = 5 * 60_000;
/** After a failed sweep, for example because a partition to drop was in use. */
const RETRY_MS = 10_000;

/** A table that is partitioned by day, and how long its rows are stored. */
export interface PartitionedTable {
  name: string;
  seconds: number;
  /** Called before partitions are dropped, so that no reader expects their rows. */
  beforeDrop?: (database: Database, seconds: number) => Promise<void>;
}

export interface PartitionsOptions {
  database: Database;
  tables: readonly PartitionedTable[];
  telemetry: EventsTelemetry;
  /** Held by the replica that sweeps in the background. */
  lease: LoopLease;
}

/** Creates the partitions of the next days, and drops partitions with expired rows. Several processes may do this at once. */
export class Partitions implements Part {
  readonly name = 'partitions';
  readonly #options: PartitionsOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: PartitionsOptions) {
    this.#options = options;
  }

  /** Sweeps once, and then every five minutes in the background. */
  async start(): Promise<void> {
    const isDone = await this.sweep();
    this.#running = this.#run(isDone ? SWEEP_EVERY_MS : RETRY_MS);
  }

  async drain(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /**
   * Creates and drops partitions that are due now, if this process is the owner, and reads their number and size. Returns
   * false if something failed, which was logged.
   */
  async sweep(isOwner = true): Promise<boolean> {
    let isDone = true;
    for (const table of this.#options.tables) {
      try {
        await this.#sweepTable(table, isOwner);
      } catch (error) {
        isDone = false;
        this.#options.telemetry.partitionsFailed(table.name, error);
      }
    }
    return isDone;
  }

  async #run(firstPauseMs: number): Promise<void> {
    for (let pause = firstPauseMs; ; ) {
      await wait(pause, undefined, { signal: this.#stopping.signal, ref: false }).catch(() => undefined);
      if (this.#stopping.signal.aborted) return;
      pause = (await this.sweep(this.#options.lease.isHeld)) ? SWEEP_EVERY_MS : RETRY_MS;
    }
  }

  async #sweepTable(table: PartitionedTable, isOwner: boolean): Promise<void> {
    const { database, telemetry } = this.#options;
    if (isOwner) await this.#createAndDrop(table);
    telemetry.partitionsRead(table.name, await partitionStats(database, table.name));
  }

  async #createAndDrop({ name, seconds, beforeDrop }: PartitionedTable): Promise<void> {
    const { database, telemetry } = this.#options;
    const created = await createPartitions(database, name, DAYS_AHEAD);
    if (created > 0) telemetry.partitionCreated(name, created);
    await beforeDrop?.(database, seconds);
    for (;;) {
      const dropped = await dropExpiredPartition(database, name, seconds);
      if (dropped === undefined) break;
      telemetry.partitionDropped(name, dropped);
    }
  }
}

/** Deletes the expired days of all guilds, so that readers no longer get their events. */
export async function forgetDays(database: Database, seconds: number): Promise<void> {
  while (await forgetExpiredDays(database, seconds));
}

import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Queryable } from '../postgres/pool.ts';
import type { Part } from '../service/lifecycle.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** How long, in milliseconds, a process that died keeps others from running its loops. */
const LEASE_MS = 6_000;
/** The mean time between two renewals; each wait varies by plus or minus a quarter. */
const RENEW_MS = 1_500;
/** How much earlier, in milliseconds, the owner stops than the lease ends, because a step may just have begun. */
const MARGIN_MS = 500;

/** The right of one process to run a background loop. */
export interface LoopLease {
  /** True while this process may run the loop; looked at before each step. */
  readonly isHeld: boolean;
}

/** A lease that shows whether it was held without interruption. */
export interface TermLease extends LoopLease {
  /** Changes each time this process acquires the lease: another process may have run the loop before. */
  readonly term: number;
}

export interface LoopLeasesOptions {
  database: Queryable;
  /** The schema of the service, which has the table `leases`. */
  schema: string;
  metrics: Metrics;
  log: Logger;
}

/**
 * Gives each background loop of a service one owner among the replicas: a row in PostgreSQL says who and until when, by
 * the clock of the database. One statement renews what this process owns and acquires what has no owner. Loops must be
 * harmless if two processes run them, because a step may take longer than the lease.
 */
export class LoopLeases implements Part {
  readonly name = 'leases of loops';
  readonly #options: LoopLeasesOptions;
  readonly #holder = randomUUID();
  readonly #names = new Set<string>();
  /** Until when this process holds each lease, in milliseconds of the monotonic clock. */
  readonly #heldUntil = new Map<string, number>();
  /** How often this process has acquired each lease. */
  readonly #terms = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> = Promise.resolve();
  #haveRows = false;
  #hasFailed = false;
  #isStopped = false;

  constructor(options: LoopLeasesOptions) {
    this.#options = options;
    options.metrics.gauge(
      'loop_lease_held',
      '1 if this process is the one that runs the background loop, otherwise 0',
      ['loop'],
      (gauge) => {
        for (const name of this.#names) gauge.set({ loop: name }, this.#isHeld(name) ? 1 : 0);
      },
    );
  }

  /** Returns the lease of a loop; called before the start. */
  of(name: string): TermLease {
    this.#names.add(name);
    const isHeld = () => this.#isHeld(name);
    const term = () => this.#terms.get(name) ?? 0;
    return {
      get isHeld() {
        return isHeld();
      },
      get term() {
        return term();
      },
    };
  }

  /** Acquires what has no owner, and then goes on in the background. */
  async start(): Promise<void> {
    await this.renew();
    this.#schedule();
  }

  /** Gives all leases away, so that other processes take over at once. The loops have stopped before. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#renewing;
    if (this.#heldUntil.size === 0) return;
    this.#heldUntil.clear();
    const { database, schema } = this.#options;
    // If this fails, the leases end by themselves.
    await database
      .query(`UPDATE ${schema}.leases SET holder = NULL, leased_until = '-infinity' WHERE holder = $1`, [this.#holder])
      .catch(() => undefined);
  }

  /** Renews and acquires leases once. If that fails, the leases end, unless a later renewal is in time. */
  async renew(): Promise<void> {
    if (this.#names.size === 0) return;
    const { log } = this.#options;
    try {
      await this.#addRows();
      // The database sets the end of the lease later than this.
      const sentAt = performance.now();
      const held = await this.#acquire();
      for (const name of this.#names) {
        if (held.has(name)) this.#hold(name, sentAt + LEASE_MS - MARGIN_MS);
        else this.#heldUntil.delete(name);
      }
      this.#hasFailed = false;
    } catch (error) {
      // Logs only the first failure of an outage.
      if (!this.#hasFailed) log.warn({ err: error }, 'failed to renew the leases of background loops, will retry');
      this.#hasFailed = true;
    }
  }

  #hold(name: string, until: number): void {
    // A renewal that is late for this process may still be one for the database; counting it as a new term is harmless.
    if (!this.#isHeld(name)) this.#terms.set(name, (this.#terms.get(name) ?? 0) + 1);
    this.#heldUntil.set(name, until);
  }

  #isHeld(name: string): boolean {
    return !this.#isStopped && performance.now() < (this.#heldUntil.get(name) ?? Number.NEGATIVE_INFINITY);
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(
      () => {
        this.#renewing = this.renew().finally(() => this.#schedule());
      },
      RENEW_MS * (0.75 + Math.random() / 2),
    ).unref();
  }

  async #addRows(): Promise<void> {
    if (this.#haveRows) return;
    const { database, schema } = this.#options;
    await database.query(
      `INSERT INTO ${schema}.leases (name) SELECT name FROM unnest($1::text[]) AS name ON CONFLICT DO NOTHING`,
      [[...this.#names]],
    );
    this.#haveRows = true;
  }

  /** Returns the names of the leases that this process holds now. */
  async #acquire(): Promise<Set<string>> {
    const { database, schema } = this.#options;
    const rows = await database.query<{ name: string }>(
      `UPDATE ${schema}.leases SET holder = $1, leased_until = clock_timestamp() + $3 * interval '1 ms'
       WHERE name = ANY($2) AND (holder = $1 OR leased_until < clock_timestamp()) RETURNING name`,
      [this.#holder, [...this.#names], LEASE_MS],
    );
    return new Set(rows.map(({ name }) => name));
  }
}

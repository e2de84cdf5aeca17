import { performance } from 'node:perf_hooks';
import type { ClientBase } from 'pg';

/** How long, in milliseconds, a connection uses the plans of its prepared statements. */
const MAX_PLAN_AGE_MS = 5_000;

/**
 * Decides when a connection discards the plans of its prepared statements. A plan that PostgreSQL made while a table was empty
 * reads the whole table, even after a hundred thousand rows were added, until autovacuum has analyzed the table about a minute later.
 * Tables of queues are often empty. A new plan fits the present size of each table.
 */
export class CachedPlans {
  readonly #maxAgeMs: number;
  readonly #monotonicNow: () => number;
  /** When the last DISCARD PLANS of each connection was claimed, by `monotonicNow`; before that, when it was first passed. */
  readonly #discardedAt = new WeakMap<ClientBase, number>();

  /** `monotonicNow` returns milliseconds; tests replace it. */
  constructor(maxAgeMs = MAX_PLAN_AGE_MS, monotonicNow = () => performance.now()) {
    this.#maxAgeMs = maxAgeMs;
    this.#monotonicNow = monotonicNow;
  }

  /**
   * Returns true once for each MAX_PLAN_AGE_MS of a connection: the caller then discards its plans, before it executes a prepared
   * statement. A connection that is passed for the first time has no plans.
   */
  claimDiscard(client: ClientBase): boolean {
    const now = this.#monotonicNow();
    const discardedAt = this.#discardedAt.get(client);
    if (discardedAt !== undefined && now - discardedAt < this.#maxAgeMs) return false;
    this.#discardedAt.set(client, now);
    return discardedAt !== undefined;
  }
}

import { setTimeout as wait } from 'node:timers/promises';
import { ApiError } from '../../errors.ts';
import { backoffMs } from '../../resilience/backoff.ts';
import { inParallel } from '../../resilience/parallel.ts';
import { withoutTrace } from '../../telemetry/tracing/current-span.ts';
import type { Database, Queryable } from '../pool.ts';
import { CLAIM_SECONDS, type Claim, lockWrite } from './claim.ts';

/** How many claims are ended at the same time: the requests of clients need most connections of the pool. */
const MAX_CONCURRENT = 2;
const RETRY = { minMs: 250, maxMs: 1_000 };
/** The maximum number of claims whose end is retried, which limits memory. Claims beyond it reject repeats of their write until they expire. */
const MAX_WAITING = 1_000;

/** Settles or releases a claim, by statements in a transaction or outside of one. */
export type EndClaim = (on: Queryable) => Promise<void>;

interface WaitingEnd {
  end: EndClaim;
  /** When to give up, in milliseconds of `performance.now()`. */
  until: number;
}

/**
 * Ends claims on writes whose request is over. If the database fails at that moment, it ends them as soon as the
 * database responds again: until a claim expires, clients that repeat the write are rejected.
 */
export class ClaimEnder {
  readonly #database: Database;
  readonly #table: string;
  readonly #waiting = new Map<Claim, WaitingEnd>();
  #isRetrying = false;

  /** `table` is that of the claims, with its schema. */
  constructor(database: Database, table: string) {
    this.#database = database;
    this.#table = table;
  }

  /**
   * Ends a claim now. Throws if the database fails, and ends it later. Also throws, and does nothing, if the claim waits for
   * another end already: the first one holds the outcome of the request.
   */
  async end(claim: Claim, end: EndClaim): Promise<void> {
    if (this.#waiting.has(claim)) throw new ApiError('UNAVAILABLE');
    try {
      await end(this.#database);
    } catch (error) {
      this.endLater(claim, end);
      throw error;
    }
  }

  /** Ends a claim in the background, unless it waits for another end already. */
  endLater(claim: Claim, end: EndClaim): void {
    if (this.#waiting.has(claim) || this.#waiting.size >= MAX_WAITING) return;
    this.#waiting.set(claim, { end, until: performance.now() + CLAIM_SECONDS * 1_000 });
    // It ends claims of many requests, so it is part of no request's trace.
    if (!this.#isRetrying) void withoutTrace(() => this.#retry());
  }

  async #retry(): Promise<void> {
    this.#isRetrying = true;
    for (let attempts = 1; this.#waiting.size > 0; attempts++) {
      await wait(backoffMs(attempts, RETRY), undefined, { ref: false });
      // After the first failure the others wait for the next round: the database still fails.
      const failed = new AbortController();
      const work = ([claim, { end, until }]: [Claim, WaitingEnd]) => this.#tryAgain(claim, end, until, failed);
      await inParallel([...this.#waiting], MAX_CONCURRENT, work, failed.signal);
    }
    this.#isRetrying = false;
  }

  async #tryAgain(claim: Claim, end: EndClaim, until: number, failed: AbortController): Promise<void> {
    const isOver = performance.now() > until;
    try {
      if (isOver || (await this.#endAlone(claim, end))) this.#waiting.delete(claim);
    } catch {
      failed.abort();
      // The next round begins with another claim.
      this.#waiting.delete(claim);
      this.#waiting.set(claim, { end, until });
    }
  }

  /**
   * Returns false while the transaction that inserted the claim is open, for example because its COMMIT got no response. It
   * holds the lock, and other transactions do not see the row yet.
   */
  #endAlone({ write }: Claim, end: EndClaim): Promise<boolean> {
    return this.#database.transaction(async (transaction) => {
      const isLocked = await lockWrite(transaction, this.#table, write);
      if (isLocked) await end(transaction);
      return isLocked;
    });
  }
}

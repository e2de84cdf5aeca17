import { setTimeout as wait } from 'node:timers/promises';
import { backoffMs } from '../resilience/backoff.ts';
import { inParallel } from '../resilience/parallel.ts';
import { type Claim, lockWrite } from './idempotent-write.ts';
import type { Database, Queryable } from './pool.ts';

/** The seconds for which a claim on a write is held. */
export const CLAIM_SECONDS = 60;
/** How many claims are ended at the same time: the requests of clients need most connections of the pool. */
const MAX_CONCURRENT = 2;
const RETRY = { minMs: 250, maxMs: 1_000 };
/** A process has fewer claims than this, unless it has far more requests at the same time than its limits allow. */
const MAX_WAITING = 1_000;

/** Ends a claim by statements on this database or transaction. */
export type EndClaim = (on: Queryable) => Promise<void>;

interface WaitingEnd {
  end: EndClaim;
  /** When the claim will have expired, in milliseconds of `performance.now()`. */
  expiresAt: number;
}

/**
 * Ends claims on writes. If the database fails at that moment, it ends them as soon as the database responds again:
 * until they expire, clients that repeat their writes would be rejected.
 */
export class ClaimEnds {
  readonly #database: Database;
  readonly #table: string;
  readonly #waiting = new Map<Claim, WaitingEnd>();
  #isRetrying = false;

  /** `table` is that of the claims, with its schema. */
  constructor(database: Database, table: string) {
    this.#database = database;
    this.#table = table;
  }

  /** Ends a claim. Throws if the database fails; the end is then repeated in the background. */
  async now(claim: Claim, end: EndClaim): Promise<void> {
    try {
      await end(this.#database);
    } catch (error) {
      this.later(claim, end);
      throw error;
    }
  }

  /** Ends a claim in the background. Another end of it that waits already is not replaced. */
  later(claim: Claim, end: EndClaim): void {
    if (this.#waiting.has(claim) || this.#waiting.size >= MAX_WAITING) return;
    this.#waiting.set(claim, { end, expiresAt: performance.now() + CLAIM_SECONDS * 1_000 });
    if (!this.#isRetrying) void this.#retry();
  }

  async #retry(): Promise<void> {
    this.#isRetrying = true;
    for (let attempts = 1; this.#waiting.size > 0; attempts++) {
      await wait(backoffMs(attempts, RETRY), undefined, { ref: false });
      await inParallel([...this.#waiting], MAX_CONCURRENT, async ([claim, { end, expiresAt }]) => {
        const isEnded = performance.now() > expiresAt || (await this.#tryTo(end, claim));
        if (isEnded) this.#waiting.delete(claim);
      });
    }
    this.#isRetrying = false;
  }

  /** The lock is only free once the transaction that made the claim, whose commit may have had no response, has ended. */
  #tryTo(end: EndClaim, { write }: Claim): Promise<boolean> {
    const ended = this.#database.transaction(async (transaction) => {
      const isLocked = await lockWrite(transaction, this.#table, write);
      if (isLocked) await end(transaction);
      return isLocked;
    });
    return ended.catch(() => false);
  }
}

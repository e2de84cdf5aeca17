import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { whileRenewing } from '#kit/resilience/renewing.ts';
import { keepLock, type MemberName, releaseLock, takeLock } from '../store/roles.ts';

/** Longer than a call of a platform may take (5 s), so that no call of a holder that died outlives its lock. */
const HELD_MS = 6_000;
const RENEW_MS = 1_000;
const RETRY_MS = 100;
/** Longer than a holder that died is waited for, and within the 8 s that the gateway waits. */
const PATIENCE_MS = 7_000;

/** A lock while it is held. */
export interface HeldLock {
  /** Right before each change: holds it for a whole lease from now; MemberBusy when that can't be done. */
  keep(): Promise<void>;
}

/** Thrown when another changes the member's roles, or may do so by now. */
export class MemberBusy extends ApiError {
  constructor(cause?: unknown) {
    super('UNAVAILABLE', { message: "The member's roles are being changed, try again soon", cause });
  }
}

/**
 * Whatever changes a member's roles holds the member's lock, one for all replicas. It is a row with a lease that is
 * renewed while there is work, by the database's clock, and not one of the database's own locks, since no connection is to be held while the
 * platforms are called.
 */
export class MemberLocks {
  readonly #database: Queryable;
  readonly #newHolder: () => string;

  /** `newHolder` gives UUIDs. */
  constructor(database: Queryable, newHolder: () => string) {
    this.#database = database;
    this.#newHolder = newHolder;
  }

  /** Until when (performance.now()) a call that begins now waits for locks. */
  static patience(): number {
    return performance.now() + PATIENCE_MS;
  }

  /** The work's outcome, done while nobody else changes the member's roles; MemberBusy when others do until `until`. */
  async hold<Result>(member: MemberName, until: number, work: (lock: HeldLock) => Promise<Result>): Promise<Result> {
    const holder = this.#newHolder();
    await this.#take(member, holder, until);
    const keep = () => this.#keep(member, holder);
    try {
      return await whileRenewing(RENEW_MS, keep, () => work({ keep }));
    } finally {
      // What can't be released now is free after a while.
      await releaseLock(this.#database, member, holder).catch(() => undefined);
    }
  }

  async #take(member: MemberName, holder: string, until: number): Promise<void> {
    for (;;) {
      if (await takeLock(this.#database, member, holder, HELD_MS)) return;
      if (performance.now() + RETRY_MS >= until) throw new MemberBusy();
      await sleep(RETRY_MS);
    }
  }

  async #keep(member: MemberName, holder: string): Promise<void> {
    const isKept = await keepLock(this.#database, member, holder, HELD_MS).catch((error: unknown) => {
      throw new MemberBusy(error);
    });
    if (!isKept) throw new MemberBusy();
  }
}

import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { whileRenewing } from '#kit/resilience/renewing.ts';
import { acquireLock, type MemberName, releaseLock, renewLock } from '../store/roles.ts';

/**
 * Milliseconds for which a member's lock is leased. Longer than the timeout of a platform call (5 s), so that no call
 * of a killed process outlives its lock.
 */
const LEASE_MS = 6_000;
const RENEW_MS = 1_000;
const RETRY_MS = 100;
/**
 * The maximum time in milliseconds to wait for a member's lock. Longer than the lease of a killed holder, and shorter
 * than the gateway's timeout of 8 s.
 */
const MAX_WAIT_MS = 7_000;

/** A member's lock that this process holds. */
export interface HeldLock {
  /**
   * Renews the lock's lease. Must be called immediately before each change of a role. Throws MemberBusy if the lock was
   * lost.
   */
  renew(): Promise<void>;
}

/** Thrown if another process holds the member's lock, or may hold it because this process could not renew its lease. */
export class MemberBusy extends ApiError {
  constructor(cause?: unknown) {
    super('UNAVAILABLE', { message: "The member's roles are being changed, try again soon", cause });
  }
}

/**
 * Locks of members across all replicas. A process changes a member's roles only while it holds the member's lock. A
 * lock is a row with a lease by the database's clock, which is renewed during the work. Advisory locks of PostgreSQL
 * are not used, because each would occupy a connection while the platforms are called.
 */
export class MemberLocks {
  readonly #database: Queryable;
  readonly #newHolder: () => string;

  /** `newHolder` returns a new UUID, which identifies the holder of one lock. */
  constructor(database: Queryable, newHolder: () => string) {
    this.#database = database;
    this.#newHolder = newHolder;
  }

  /** Returns the time (performance.now()) until which a call that starts now waits for a member's lock. */
  static patience(): number {
    return performance.now() + MAX_WAIT_MS;
  }

  /**
   * Runs `work` while holding the member's lock. Throws MemberBusy if another process holds the lock until `until`
   * (performance.now()).
   */
  async hold<Result>(member: MemberName, until: number, work: (lock: HeldLock) => Promise<Result>): Promise<Result> {
    const holder = this.#newHolder();
    await this.#acquire(member, holder, until);
    const renew = () => this.#renew(member, holder);
    try {
      return await whileRenewing(RENEW_MS, renew, () => work({ renew }));
    } finally {
      // If the release of the lock fails, the lock becomes free when its lease ends.
      await releaseLock(this.#database, member, holder).catch(() => undefined);
    }
  }

  async #acquire(member: MemberName, holder: string, until: number): Promise<void> {
    for (;;) {
      if (await acquireLock(this.#database, member, holder, LEASE_MS)) return;
      if (performance.now() + RETRY_MS >= until) throw new MemberBusy();
      await sleep(RETRY_MS);
    }
  }

  async #renew(member: MemberName, holder: string): Promise<void> {
    const isRenewed = await renewLock(this.#database, member, holder, LEASE_MS).catch((error: unknown) => {
      throw new MemberBusy(error);
    });
    if (!isRenewed) throw new MemberBusy();
  }
}

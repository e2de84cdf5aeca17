import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres.ts';
import { keepLock, type MemberName, releaseLock, takeLock } from '../store/roles.ts';

/** Longer than any call of a platform; whoever died is waited for no longer. */
const HELD_MS = 30_000;
const RETRY_MS = 100;
const MOST_TRIES = 30;

/** A lock while it is held. */
export interface HeldLock {
  /** Before each change: UNAVAILABLE when the lock was lost meanwhile. */
  keep(): Promise<void>;
}

/**
 * Whatever changes a member's roles holds the member's lock, one for all replicas. It is a row with a time and not one
 * of the database's own locks, since no connection is to be held while the platforms are called.
 */
export class MemberLocks {
  readonly #database: Queryable;
  readonly #clock: Clock;
  readonly #newHolder: () => string;

  /** `newHolder` gives UUIDs. */
  constructor(database: Queryable, clock: Clock, newHolder: () => string) {
    this.#database = database;
    this.#clock = clock;
    this.#newHolder = newHolder;
  }

  /** The work's outcome, done while nobody else changes the member's roles; UNAVAILABLE when others do for too long. */
  async hold<Result>(member: MemberName, work: (lock: HeldLock) => Promise<Result>): Promise<Result> {
    const holder = this.#newHolder();
    await this.#take(member, holder);
    try {
      return await work({ keep: () => this.#keep(member, holder) });
    } finally {
      // What can't be released now is free after a while.
      await releaseLock(this.#database, member, holder).catch(() => undefined);
    }
  }

  async #take(member: MemberName, holder: string): Promise<void> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      if (tries > 0) await sleep(RETRY_MS);
      const now = this.#clock.now();
      if (await takeLock(this.#database, member, holder, new Date(now), new Date(now + HELD_MS))) return;
    }
    throw busy();
  }

  async #keep(member: MemberName, holder: string): Promise<void> {
    const until = new Date(this.#clock.now() + HELD_MS);
    if (!(await keepLock(this.#database, member, holder, until))) throw busy();
  }
}

const busy = () => new ApiError('UNAVAILABLE', { message: "The member's roles are being changed, try again soon" });

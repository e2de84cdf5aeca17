import type { Clock } from '#kit/clock.ts';
import type { Queryable } from '#kit/postgres.ts';
import { whileRenewing } from '#kit/renewing.ts';
import type { MembersEvents } from '../events.ts';
import * as store from '../store/role-tasks.ts';
import type { RoleTask } from '../store/role-tasks.ts';
import type { MemberName } from '../store/roles.ts';
import type { RoleSync } from './role-sync.ts';

/** After this long without a sign of life a task is any replica's to do. */
const LEASE_MS = 5_000;
const RENEW_MS = 1_000;
/** What was in vain is tried again after this, and after twice as long each time. */
const SHORTEST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 600_000;

/** Members whose roles have to be looked at because their link has changed; done until they succeed. */
export class RoleTasks {
  readonly #database: Queryable;
  readonly #roles: RoleSync;
  readonly #clock: Clock;
  readonly #newVersion: () => string;
  readonly #events: MembersEvents;

  /** `newVersion` gives UUIDs. */
  constructor(database: Queryable, roles: RoleSync, clock: Clock, newVersion: () => string, events: MembersEvents) {
    this.#database = database;
    this.#roles = roles;
    this.#clock = clock;
    this.#newVersion = newVersion;
    this.#events = events;
  }

  /** Queues a member in the transaction that changes its link. Whoever queues it does it after the commit. */
  async queue(transaction: Queryable, member: MemberName): Promise<RoleTask> {
    const task = { ...member, version: this.#newVersion(), failures: 0 };
    const now = this.#clock.now();
    await store.insertTask(transaction, task, new Date(now), new Date(now + LEASE_MS));
    return task;
  }

  /** Takes tasks that nobody does any more; `limit` at most. */
  takeAbandoned(limit: number): Promise<RoleTask[]> {
    const now = this.#clock.now();
    return store.takeDueTasks(this.#database, new Date(now), new Date(now + LEASE_MS), limit);
  }

  /** May be repeated by anybody at any time. What fails is told to the log, thrown, and done again later. */
  async finish(task: RoleTask): Promise<void> {
    try {
      await whileRenewing(
        RENEW_MS,
        () => this.#keep(task),
        () => this.#roles.follow(task),
      );
      await store.deleteTask(this.#database, task);
    } catch (error) {
      this.#events.roleTaskFailed(task, error);
      const wait = Math.min(LONGEST_WAIT_MS, SHORTEST_WAIT_MS * 2 ** task.failures);
      // When this fails too, the task is due in a while all the same.
      await store.postponeTask(this.#database, task, new Date(this.#clock.now() + wait)).catch(() => undefined);
      throw error;
    }
  }

  #keep(task: RoleTask): Promise<void> {
    return store.keepTask(this.#database, task, new Date(this.#clock.now() + LEASE_MS));
  }
}

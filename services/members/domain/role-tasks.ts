import { performance } from 'node:perf_hooks';
import { withPurpose } from '#kit/context.ts';
import { asApiError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { whileRenewing } from '#kit/resilience/renewing.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { RoleTask } from '../store/role-tasks.ts';
import * as store from '../store/role-tasks.ts';
import type { MemberName } from '../store/roles.ts';
import type { RoleTaskEvents } from '../telemetry/tasks.ts';
import type { RoleSync } from './role-sync.ts';

/** After this long without a renewal any replica may take the task. */
const LEASE_MS = 5_000;
const RENEW_MS = 1_000;
/** What other replicas queued or left behind is found within this. */
const POLL_MS = 1_000;
/** Tasks of this process that run at once, in all and of one guild. */
const MAX_RUNNING = 8;
const MAX_RUNNING_PER_GUILD = 2;
/** A failed attempt is repeated after this, and after twice as long each time. */
const MIN_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 600_000;
/** About a day of attempts; then the task is a dead letter. */
const MAX_ATTEMPTS = 150;
/** Beyond this the metrics do not count. */
const MAX_COUNTED = 10_000;
const COUNT_MS = 10_000;
const MAX_ERROR_LENGTH = 300;

export interface RoleTasksOptions {
  database: Queryable;
  roles: Pick<RoleSync, 'follow'>;
  /** UUIDs. */
  newId: () => string;
  events: RoleTaskEvents;
  /** 0 to 1, as Math.random. */
  random?: () => number;
}

/**
 * Synchronises the roles of members whose link has changed. Tasks are rows that any replica takes; this process runs a
 * few at a time, and of one guild two at most, so that a rush of redeemed codes in one guild delays no other. A task
 * that waits is not written to. Whatever a task calls is called in the background.
 */
export class RoleTasks implements Part {
  readonly name = 'role tasks';
  readonly #options: RoleTasksOptions;
  /** By the task's version, which guild it is of and when it has been attempted. */
  readonly #running = new Map<string, { guildId: string; attempted: Promise<void> }>();
  /** Who waits for the first attempt of a task, by its version. */
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isWanted = false;
  #isStopped = false;
  /** The guild after which the next look begins. */
  #after = '';
  #countedAt = -COUNT_MS;

  constructor(options: RoleTasksOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.wake();
  }

  /** Begins no task any more, and waits for those that run. */
  async drain(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
    await Promise.all([...this.#running.values()].map(({ attempted }) => attempted));
  }

  /** Queues a member in the transaction that changes its link. Whoever queues it begins it after the commit. */
  async queue(transaction: Queryable, member: MemberName): Promise<RoleTask> {
    const task = { ...member, version: this.#options.newId(), attempts: 0 };
    await store.insertTask(transaction, task);
    return task;
  }

  /** Begins a task that was queued a moment ago when there is room for it; otherwise it waits for its turn. */
  begin(task: RoleTask): void {
    if (this.#hasRoomFor(task.guildId)) this.#track(task, this.#attemptOwn(task));
    else this.wake();
  }

  /** Settles with the first attempt of a task that was begun here; never rejects. Not longer than `timeoutMs`. */
  async attempted(task: RoleTask, timeoutMs: number): Promise<void> {
    const waiting = this.#waiting.get(task.version) ?? Promise.withResolvers<void>();
    this.#waiting.set(task.version, waiting);
    const timer = setTimeout(waiting.resolve, timeoutMs);
    const running = this.#running.get(task.version);
    await Promise.race([waiting.promise, ...(running ? [running.attempted] : [])]);
    clearTimeout(timer);
    this.#waiting.delete(task.version);
  }

  /** There may be something to do. */
  wake(): void {
    if (this.#isStopped) return;
    this.#isWanted = true;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
      if (this.#isStopped) return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.wake(), this.#isWanted ? 0 : POLL_MS).unref();
    });
  }

  async #look(): Promise<void> {
    try {
      while (this.#isWanted && !this.#isStopped) {
        this.#isWanted = false;
        while (this.#running.size < MAX_RUNNING && !this.#isStopped && (await this.#takeSome()));
      }
      await this.#count();
    } catch (error) {
      this.#options.events.unreachable(error);
    }
  }

  /** False when there was nothing to take for which there is room. */
  async #takeSome(): Promise<boolean> {
    const { database, newId } = this.#options;
    const holder = newId();
    const after = this.#after;
    const selection = { after, busy: this.#busyGuilds(), limit: MAX_RUNNING - this.#running.size, perGuild: 1 };
    const tasks = await store.takeTasks(database, selection, holder, LEASE_MS);
    this.#after = tasks.map(({ guildId }) => guildId).reduce((last, id) => (id > last ? id : last), '');
    for (const task of tasks) this.#track(task, this.#run(task, holder));
    // From the first guild again.
    return tasks.length > 0 || after !== '';
  }

  #busyGuilds(): string[] {
    const guilds = Map.groupBy(this.#running.values(), ({ guildId }) => guildId);
    return [...guilds].filter(([, running]) => running.length >= MAX_RUNNING_PER_GUILD).map(([guildId]) => guildId);
  }

  #hasRoomFor(guildId: string): boolean {
    return !this.#isStopped && this.#running.size < MAX_RUNNING && !this.#busyGuilds().includes(guildId);
  }

  #track(task: RoleTask, work: Promise<void>): void {
    const attempted = work.finally(() => {
      this.#running.delete(task.version);
      this.#waiting.get(task.version)?.resolve();
      this.wake();
    });
    this.#running.set(task.version, { guildId: task.guildId, attempted });
  }

  /** Never rejects. */
  async #attemptOwn(task: RoleTask): Promise<void> {
    const { database, newId, events } = this.#options;
    const holder = newId();
    try {
      if (await store.takeTask(database, task, holder, LEASE_MS)) await this.#run(task, holder);
    } catch (error) {
      events.unreachable(error);
    }
  }

  /** Never rejects: what cannot be written down now, any replica finds when the lease has ended. */
  async #run(task: RoleTask, holder: string): Promise<void> {
    const { database, roles, events } = this.#options;
    try {
      await withPurpose('background', () =>
        whileRenewing(
          RENEW_MS,
          () => store.keepTask(database, task, holder, LEASE_MS),
          () => roles.follow(task),
        ),
      );
      await store.deleteTask(database, task);
      events.done();
    } catch (error) {
      await this.#fail(task, holder, error).catch((failure: unknown) => events.unreachable(failure));
    }
  }

  async #fail(task: RoleTask, holder: string, thrown: unknown): Promise<void> {
    const { database, events } = this.#options;
    const error = asApiError(thrown);
    const failure = {
      waitMs: this.#backoff(task.attempts),
      maxAttempts: MAX_ATTEMPTS,
      error: `${error.code}: ${error.message}`.slice(0, MAX_ERROR_LENGTH),
    };
    const state = await store.failTask(database, task, holder, failure);
    if (state === 'dead') events.dead(task, error);
    else events.failed(task, error);
  }

  /** Twice as long after each attempt, less up to a fifth, so that what failed together is not repeated together. */
  #backoff(attempts: number): number {
    const { random = Math.random } = this.#options;
    const longest = Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** Math.min(attempts, 20));
    return Math.round(longest * (1 - random() / 5));
  }

  async #count(): Promise<void> {
    const now = performance.now();
    if (now - this.#countedAt < COUNT_MS) return;
    this.#countedAt = now;
    this.#options.events.counted(await store.countTasks(this.#options.database, MAX_COUNTED));
  }
}

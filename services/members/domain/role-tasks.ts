import { withPurpose } from '#kit/context.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { AttemptEnd, ClaimedItem, ItemKey, QueueDefinition } from '#kit/queue/definition.ts';
import { backoffMs } from '#kit/resilience/backoff.ts';
import { insertTask, ROLE_TASKS, type RoleTask } from '../store/role-tasks.ts';
import type { MemberName } from '../store/roles.ts';
import type { RoleTaskTelemetry } from '../telemetry/tasks.ts';
import type { RoleSync } from './role-sync.ts';

export const ROLE_TASK_QUEUE = 'role-tasks';
const LEASE_MS = 5_000;
const CONCURRENCY = 8;
/** Many members of one guild that redeem codes at the same time delay no other guild. */
const MAX_PER_GUILD = 2;
const BACKOFF = { minMs: 1_000, maxMs: 720_000 };
/** About a day of attempts, after which the task is a dead letter. */
const MAX_ATTEMPTS = 150;

type TaskItem = ClaimedItem<Pick<RoleTask, 'version'>>;

export interface RoleTasksOptions {
  roles: Pick<RoleSync, 'follow'>;
  /** Returns a UUID. */
  newId: () => string;
  telemetry: RoleTaskTelemetry;
  /**
   * Attempts an item of this queue that was just committed, and returns when the attempt has ended; false without an
   * attempt if this process has no free slot. Never rejects.
   */
  begin: (item: ItemKey) => Promise<boolean>;
}

/** Synchronises the roles of members whose link has changed, in the background. */
export class RoleTasks {
  readonly #options: RoleTasksOptions;
  /** By a task's version: resolved after its first attempt in this process. */
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();
  /** By a task's version: the attempt that `begin` started. */
  readonly #begun = new Map<string, Promise<boolean>>();

  constructor(options: RoleTasksOptions) {
    this.#options = options;
  }

  get definition(): QueueDefinition<Pick<RoleTask, 'version'>> {
    const { roles } = this.#options;
    return {
      name: ROLE_TASK_QUEUE,
      table: ROLE_TASKS,
      ordered: false,
      concurrency: CONCURRENCY,
      maxPerGuild: MAX_PER_GUILD,
      leaseMs: LEASE_MS,
      deletesDone: true,
      retry: {
        delayMs: (attempts) => backoffMs(attempts, BACKOFF),
        // An operator of the guild may move a role or grant a permission at any time.
        isPermanent: () => false,
        // The attempts last for a day, which is longer than an outage; one guild's errors must not delay the others.
        isOutage: () => false,
        limits: { maxAttempts: MAX_ATTEMPTS, maxOutageSeconds: null },
      },
      handle: ({ guildId, id }) => withPurpose('background', () => roles.follow({ guildId, chatId: id })),
      settled: (item, end) => this.#settled(item, end),
      statsRead: (stats) => this.#options.telemetry.statsRead(stats),
    };
  }

  /** Queues a member in the transaction that changes its link. Call `begin` after the commit. */
  async queue(transaction: Queryable, member: MemberName): Promise<RoleTask> {
    const task = { ...member, version: this.#options.newId() };
    await insertTask(transaction, task);
    return task;
  }

  /** Attempts a task that was just committed if this process has a free slot; otherwise the task waits for one. */
  begin({ guildId, chatId, version }: RoleTask): void {
    const begun = this.#options.begin({ guildId, id: chatId }).finally(() => this.#begun.delete(version));
    this.#begun.set(version, begun);
  }

  /** Returns after the first attempt of a task in this process, or after `timeoutMs`; never rejects. */
  async attempted({ version }: RoleTask, timeoutMs: number): Promise<void> {
    const waiting = this.#waiting.get(version) ?? Promise.withResolvers<void>();
    this.#waiting.set(version, waiting);
    const timer = setTimeout(waiting.resolve, timeoutMs);
    // Without an attempt here if another process has taken the task, and later if there was no free slot.
    if (!(await Promise.race([waiting.promise, this.#begun.get(version)]))) await waiting.promise;
    clearTimeout(timer);
    this.#waiting.delete(version);
  }

  #settled({ guildId, id, attempts, data: { version } }: TaskItem, end: AttemptEnd): void {
    this.#options.telemetry.settled({ guildId, chatId: id, attempts }, end);
    this.#waiting.get(version)?.resolve();
  }
}

import { performance } from 'node:perf_hooks';
import { withPurpose } from '#kit/context.ts';
import { ApiError } from '#kit/errors.ts';
import { currentEventSource, withEventSource } from '#kit/events/source.ts';
import type { Queryable, Transaction } from '#kit/postgres/pool.ts';
import type { AttemptEnd, ClaimedItem, ItemKey, QueueDefinition } from '#kit/queue/definition.ts';
import { backoffMs } from '#kit/resilience/backoff.ts';
import { sourceOfResults } from '../events.ts';
import { findSettings } from '../store/guild-settings.ts';
import type { Change } from '../store/intents.ts';
import { deleteKnownRanks, expectFirstRanks } from '../store/known-ranks.ts';
import { insertTask, insertTasks, ROLE_TASKS, type RoleTask, type RoleTaskCause } from '../store/role-tasks.ts';
import type { MemberName } from '../store/roles.ts';
import type { RoleTaskTelemetry } from '../telemetry/tasks.ts';
import type { AutomaticNicknames } from './automatic-nicknames.ts';
import type { RoleSync } from './role-sync.ts';

export const ROLE_TASK_QUEUE = 'role-tasks';
const LEASE_MS = 5_000;
const CONCURRENCY = 8;
/**
 * The maximum number of role tasks (role updates of one member) of one guild that one process runs at the same time, so
 * that a guild whose members redeem many codes at once does not delay other guilds.
 */
const MAX_PER_GUILD = 2;
/** The error of an attempt after which some verdicts are still unknown. */
const INCOMPLETE = 'The game platform did not return the data that the bindings need';
const BACKOFF = { minMs: 1_000, maxMs: 720_000 };
/**
 * The maximum number of attempts to update a member's roles. They take about a day; then the task becomes a dead
 * letter.
 */
const MAX_ATTEMPTS = 150;
/** The number of attempts whose failures are reported as events; later attempts mostly fail for the same reason. */
const MAX_REPORTED_ATTEMPTS = 3;

type TaskData = Pick<RoleTask, 'version' | 'source' | 'cause'> & { ageSeconds: number };
type TaskItem = ClaimedItem<TaskData>;

/** A member, and the game account that is or was linked. */
type LinkedMember = MemberName & { gameId: number };

export interface RoleTasksOptions {
  roles: Pick<RoleSync, 'follow'>;
  nicknames: Pick<AutomaticNicknames, 'follow'>;
  /** Returns a new UUID, which identifies one version of a member's role task. */
  newId: () => string;
  telemetry: RoleTaskTelemetry;
  /**
   * Runs a role task that was just committed. Resolves to true when the attempt has ended, or to false without an
   * attempt if this process is already running the maximum number of tasks. Never rejects.
   */
  begin: (item: ItemKey) => Promise<boolean>;
  /** Looks for due role tasks. */
  wake: () => void;
}

/**
 * The queue that synchronises, in the background, the roles of members whose link, membership or rank has changed, and
 * then their nicknames.
 */
export class RoleTasks {
  readonly #options: RoleTasksOptions;
  /**
   * For each version of a role task, a promise that resolves after this process has tried for the first time to update
   * the member's roles.
   */
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();
  /** For each version of a role task, the attempt that `begin` started. */
  readonly #begun = new Map<string, Promise<boolean>>();

  constructor(options: RoleTasksOptions) {
    this.#options = options;
  }

  get definition(): QueueDefinition<TaskData> {
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
        // No error is permanent: an administrator of the guild may move a role or grant a permission at any time.
        isPermanent: () => false,
        // No error pauses the queue, because the attempts continue for a day, which is longer than an outage, and the
        // errors of one guild must not delay other guilds.
        isOutage: () => false,
        limits: { maxAttempts: MAX_ATTEMPTS, maxOutageSeconds: null },
      },
      handle: (item) => withPurpose('background', () => this.#handle(item)),
      settled: (item, end) => this.#settled(item, end),
      statsRead: (stats) => this.#options.telemetry.statsRead(stats),
    };
  }

  /**
   * Queues an update of a member's roles (a role task) in the transaction that changes the member's link. Call `begin`
   * after the commit. Returns undefined if the guild's settings say that roles do not follow a new link. A removed link
   * always takes back the roles that it gave.
   */
  async queue(transaction: Queryable, member: LinkedMember, kind: Change['kind']): Promise<RoleTask | undefined> {
    const { guildId, chatId } = member;
    if (kind === 'unlink') await deleteKnownRanks(transaction, guildId, chatId);
    else {
      const { syncOnLink, syncOnRankChange } = await findSettings(transaction, guildId);
      if (!syncOnLink) return undefined;
      if (syncOnRankChange) await expectFirstRanks(transaction, member);
    }
    const source = currentEventSource() ?? null;
    const task = { guildId, chatId, version: this.#options.newId(), source, cause: 'link' } as const;
    await insertTask(transaction, task);
    return task;
  }

  /**
   * Queues updates of the roles of members after something that was noticed on a platform, in the transaction that
   * stores it. Workers begin after the commit. `chatIds` has no duplicates.
   */
  async queueAll(
    transaction: Transaction,
    guildId: string,
    chatIds: readonly string[],
    cause: Exclude<RoleTaskCause, 'link'>,
  ): Promise<void> {
    if (chatIds.length === 0) return;
    await insertTasks(transaction, guildId, chatIds, cause);
    transaction.afterCommit(this.#options.wake);
  }

  /**
   * Starts a role task that was just committed, unless this process is already running the maximum number of tasks;
   * then the task waits in the queue.
   */
  begin({ guildId, chatId, version }: RoleTask): void {
    const begun = this.#options.begin({ guildId, id: chatId }).finally(() => this.#begun.delete(version));
    this.#begun.set(version, begun);
  }

  /**
   * Waits until this process has tried for the first time to update the member's roles as the role task requests, but
   * at most `timeoutMs`. Never rejects.
   */
  async attempted({ version }: RoleTask, timeoutMs: number): Promise<void> {
    const waiting = this.#waiting.get(version) ?? Promise.withResolvers<void>();
    this.#waiting.set(version, waiting);
    const timer = setTimeout(waiting.resolve, timeoutMs);
    // False means that the process was already running the maximum number of tasks, so the attempt comes later. True
    // means that the attempt has ended, or that another process has taken the task.
    if (!(await Promise.race([waiting.promise, this.#begun.get(version)]))) await waiting.promise;
    clearTimeout(timer);
    this.#waiting.delete(version);
  }

  #handle({ guildId, id, attempts, data }: TaskItem): Promise<void> {
    const { roles, nicknames, telemetry } = this.#options;
    const startedAt = performance.now();
    const reportsFailures = attempts <= MAX_REPORTED_ATTEMPTS;
    // Without this the bindings service could evaluate a cached rank from before the change.
    const maxRankAgeMs = data.cause === 'rank' ? Math.max(0, Math.floor(1000 * data.ageSeconds)) : undefined;
    const follow = async () => {
      const followed = await roles.follow({ guildId, chatId: id }, { reportsFailures, maxRankAgeMs });
      const freshness = maxRankAgeMs === undefined ? undefined : { since: startedAt - maxRankAgeMs };
      if (followed) await nicknames.follow(guildId, followed, freshness);
      if (followed?.isIncomplete) throw new ApiError('PLATFORM_ERROR', { message: INCOMPLETE });
      telemetry.updated(data.cause, data.ageSeconds + (performance.now() - startedAt) / 1000);
    };
    return withEventSource(sourceOfResults(data.source), follow);
  }

  #settled({ guildId, id, attempts, data }: TaskItem, end: AttemptEnd): void {
    const { version, cause } = data;
    this.#options.telemetry.settled({ guildId, chatId: id, attempts, cause }, end);
    this.#waiting.get(version)?.resolve();
  }
}

import type { QueueDefinition } from '#kit/queue/definition.ts';
import { backoffMs } from '#kit/resilience/backoff.ts';
import type { LeasedTask, MirrorTask, MirrorTasks } from '../store/mirror-tasks.ts';

export const RESTRICTION_QUEUE = 'restrictions';
export const TIMEOUT_QUEUE = 'timeouts';

const LEASE_MS = 15_000;
const BACKOFF = { minMs: 1_000, maxMs: 600_000 };
/** The attempts take about a day and a half; then the task is a dead letter. */
const MAX_ATTEMPTS = 220;

export interface MirrorQueueOptions {
  name: typeof RESTRICTION_QUEUE | typeof TIMEOUT_QUEUE;
  tasks: MirrorTasks;
  concurrency: number;
  /** The maximum number of players of one guild that one process works on at the same time. */
  maxPerGuild: number;
  /** Does a task and ends it. Returns true if the task stays, so that it is due again. */
  follow: (task: LeasedTask, signal: AbortSignal) => Promise<boolean>;
  /** Called when a task is due again. */
  wake: () => void;
}

/**
 * Returns the queue of a mirror's players. A task says only that something may have changed: what has to be done is
 * decided when it runs. Tasks may therefore run in any order, and more than once.
 */
export function mirrorQueue({ tasks, follow, wake, ...sizes }: MirrorQueueOptions): QueueDefinition<MirrorTask> {
  return {
    ...sizes,
    table: tasks.table,
    ordered: false,
    leaseMs: LEASE_MS,
    // A task that got a new reason meanwhile stays.
    handlerFinishes: true,
    retry: {
      delayMs: (attempts, { retryAfter = 0 }) => Math.max(backoffMs(attempts, BACKOFF), 1_000 * retryAfter),
      // No error is permanent: somebody may give the bot or the key a permission at any time.
      isPermanent: () => false,
      // No error pauses the queue, because the failures and rate limits of one guild must not delay others.
      isOutage: () => false,
      limits: { maxAttempts: MAX_ATTEMPTS, maxOutageSeconds: null },
    },
    async handle({ guildId, id, lease, signal, data: { revision } }) {
      if (await follow({ guildId, gameId: Number(id), lease, revision }, signal)) wake();
    },
  };
}

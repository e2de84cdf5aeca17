import type { QueueDefinition } from '#kit/queue/definition.ts';
import { TIMEOUT_TASKS, type TimeoutTask } from '../../store/timeout-tasks.ts';
import { MIRROR_RETRY } from '../mirror-retry.ts';
import type { TimeoutMirror } from './timeout-mirror.ts';

export const TIMEOUT_QUEUE = 'timeouts';
const LEASE_MS = 15_000;
const CONCURRENCY = 8;
/** The maximum number of players of one guild that one process works on at the same time. */
const MAX_PER_GUILD = 2;

/**
 * The queue of players whose mutes and timeouts are to be made equal. A task says only that something may have changed:
 * what has to be done is decided when it runs. Tasks may therefore run in any order, and more than once.
 */
export function timeoutQueue(mirror: TimeoutMirror, wake: () => void): QueueDefinition<TimeoutTask> {
  return {
    name: TIMEOUT_QUEUE,
    table: TIMEOUT_TASKS,
    ordered: false,
    concurrency: CONCURRENCY,
    maxPerGuild: MAX_PER_GUILD,
    leaseMs: LEASE_MS,
    // A task that got a new reason meanwhile stays.
    handlerFinishes: true,
    retry: MIRROR_RETRY,
    async handle({ guildId, id, lease, data: { revision } }) {
      if (await mirror.follow({ guildId, gameId: Number(id), lease, revision })) wake();
    },
  };
}

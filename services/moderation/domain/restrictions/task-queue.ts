import type { QueueDefinition } from '#kit/queue/definition.ts';
import { RESTRICTION_TASKS, type RestrictionTask } from '../../store/restriction-tasks.ts';
import { MIRROR_RETRY } from '../mirror-retry.ts';
import type { BanMirror } from './ban-mirror.ts';

export const RESTRICTION_QUEUE = 'restrictions';
const LEASE_MS = 15_000;
const CONCURRENCY = 16;
/** The maximum number of players of one guild that one process works on at the same time. */
const MAX_PER_GUILD = 4;

/**
 * The queue of players whose bans and restrictions are to be made equal. A task says only that something may have
 * changed: what has to be done is decided when it runs. Tasks may therefore run in any order, and more than once.
 */
export function restrictionQueue(mirror: BanMirror, wake: () => void): QueueDefinition<RestrictionTask> {
  return {
    name: RESTRICTION_QUEUE,
    table: RESTRICTION_TASKS,
    ordered: false,
    concurrency: CONCURRENCY,
    maxPerGuild: MAX_PER_GUILD,
    leaseMs: LEASE_MS,
    // A task that got a new reason meanwhile stays.
    handlerFinishes: true,
    retry: MIRROR_RETRY,
    async handle({ guildId, id, lease, signal, data: { revision } }) {
      const isDueAgain = await mirror.follow({ guildId, gameId: Number(id), lease, revision }, signal);
      if (isDueAgain) wake();
    },
  };
}

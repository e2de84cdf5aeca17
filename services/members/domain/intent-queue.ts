import { withPurpose } from '#kit/context.ts';
import type { QueueDefinition } from '#kit/queue/definition.ts';
import { INTENTS, type NewIntent } from '../store/intents.ts';
import type { LinkChanges } from './changes.ts';

const CONCURRENCY = 8;
/**
 * The maximum time in milliseconds to finish a stored link change: the call to the lookup service, the transaction that
 * settles the change, and the wait for the removal of roles.
 */
const HANDLE_MS = 13_000;
const LEASE_MS = 15_000;

/**
 * The queue that finishes link changes whose requests ended early, because their process died or because the lookup
 * service or the database failed. A change that always fails becomes a dead letter; a new link change of one of its
 * accounts tries it again.
 */
export const intentQueue = (changes: LinkChanges): QueueDefinition<Omit<NewIntent, 'guildId'>> => ({
  name: 'link-changes',
  table: INTENTS,
  ordered: false,
  concurrency: CONCURRENCY,
  leaseMs: LEASE_MS,
  handleMs: HANDLE_MS,
  handlerFinishes: true,
  handle: ({ guildId, data }) => withPurpose('background', () => changes.finish({ guildId, ...data })),
  skipped: (transaction, { guildId, id }) => changes.discard(transaction, guildId, id),
});

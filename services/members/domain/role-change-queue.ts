import { withPurpose } from '#kit/context.ts';
import { type EventSource, withEventSource } from '#kit/events/source.ts';
import type { QueueDefinition } from '#kit/queue/definition.ts';
import { storedSource } from '../events.ts';
import { ROLE_CHANGES } from '../store/role-changes.ts';
import type { RoleSync } from './role-sync.ts';

const CONCURRENCY = 4;
const MAX_PER_GUILD = 2;
/** The maximum time in milliseconds of one synchronisation, which waits for the member's lock for up to 7 s. */
const HANDLE_MS = 30_000;
const LEASE_MS = 40_000;

/**
 * The queue that finishes synchronisations of a member's roles whose process died, or whose database failed, after
 * roles were changed: it synchronises the member again, which also reports what was changed before.
 */
export const roleChangeQueue = (roles: Pick<RoleSync, 'follow'>): QueueDefinition<{ source: EventSource | null }> => ({
  name: 'role-changes',
  table: ROLE_CHANGES,
  ordered: false,
  concurrency: CONCURRENCY,
  maxPerGuild: MAX_PER_GUILD,
  leaseMs: LEASE_MS,
  handleMs: HANDLE_MS,
  handlerFinishes: true,
  async handle({ guildId, id: chatId, data }) {
    const follow = () => roles.follow({ guildId, chatId }, { reportsFailures: true });
    await withPurpose('background', () => withEventSource(storedSource(data.source), follow));
  },
});

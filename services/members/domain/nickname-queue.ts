import { withPurpose } from '#kit/context.ts';
import { type EventSource, withEventSource } from '#kit/events/source.ts';
import type { QueueDefinition } from '#kit/queue/definition.ts';
import { storedSource } from '../events.ts';
import { type BegunNickname, NICKNAME_CHANGES } from '../store/nickname-changes.ts';
import type { Nicknames } from './nicknames.ts';

const CONCURRENCY = 4;
const HANDLE_MS = 10_000;
const LEASE_MS = 15_000;

/** The queue that reports changes of nicknames whose process died, or whose database failed, after the change. */
export const nicknameQueue = (
  nicknames: Nicknames,
): QueueDefinition<BegunNickname & { source: EventSource | null }> => ({
  name: 'nickname-changes',
  table: NICKNAME_CHANGES,
  ordered: false,
  concurrency: CONCURRENCY,
  leaseMs: LEASE_MS,
  handleMs: HANDLE_MS,
  handlerFinishes: true,
  async handle({ guildId, id: chatId, data }) {
    const finish = () => nicknames.finish({ guildId, chatId }, data);
    await withPurpose('background', () => withEventSource(storedSource(data.source), finish));
  },
});

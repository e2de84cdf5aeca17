import { unixSeconds } from '#kit/clock.ts';
import type { EventRecorder } from '#kit/events/recorder.ts';
import type { Transaction } from '#kit/postgres/pool.ts';
import { linkView } from './http/views.ts';
import type { Link, RemovedLink } from './store/links.ts';

/** Records the events of the lookup service, each in the transaction of its change. */
export class LookupEvents {
  readonly #recorder: EventRecorder;

  constructor(recorder: EventRecorder) {
    this.#recorder = recorder;
  }

  linked(transaction: Transaction, guildId: string, link: Link): Promise<void> {
    return this.#recorder.record(transaction, [{ guildId, type: 'link.created', data: linkView(link) }]);
  }

  unlinked(transaction: Transaction, guildId: string, removed: RemovedLink): Promise<void> {
    const { chatId, gameId, removedAt } = removed;
    const data = { chat_id: chatId, game_id: gameId, unlinked_at: unixSeconds(removedAt) };
    const before = linkView(removed);
    return this.#recorder.record(transaction, [{ guildId, type: 'link.removed', data, before }]);
  }
}

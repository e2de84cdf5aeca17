import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { Link } from './store/links.ts';

/** What happens to links: a counter and a line in the log for each. */
export class LookupEvents {
  readonly #changes;
  readonly #log: Logger;

  constructor(metrics: Metrics, log: Logger) {
    this.#changes = metrics.counter('lookup_link_changes_total', 'Links made, removed and refused', ['change']);
    this.#log = log;
  }

  linked(guildId: string, { chatId, gameId, version }: Link): void {
    this.#changes.inc({ change: 'linked' });
    this.#log.info({ guild_id: guildId, chat_id: chatId, game_id: gameId, version }, 'two accounts were linked');
  }

  unlinked(guildId: string, { chatId, gameId, version }: Link): void {
    this.#changes.inc({ change: 'unlinked' });
    this.#log.info({ guild_id: guildId, chat_id: chatId, game_id: gameId, version }, 'two accounts were unlinked');
  }

  refused(guildId: string, operationId: string, reason: 'linked already' | 'not linked'): void {
    this.#changes.inc({ change: 'refused' });
    this.#log.info({ guild_id: guildId, operation_id: operationId, reason }, 'a change of a link was refused');
  }
}

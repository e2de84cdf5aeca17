import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { Link } from './store/links.ts';

/** Counts and logs the changes of links between chat and game accounts. */
export class LookupTelemetry {
  readonly #changes;
  readonly #log: Logger;

  constructor(metrics: Metrics, log: Logger) {
    this.#changes = metrics.counter(
      'lookup_link_changes_total',
      'Requested changes of account links: links created (linked), removed (unlinked) and requests rejected (refused)',
      ['change'],
    );
    this.#log = log;
  }

  linked(guildId: string, { chatId, gameId, version }: Link): void {
    this.#changes.inc({ change: 'linked' });
    this.#log.info({ guild_id: guildId, chat_id: chatId, game_id: gameId, version }, 'accounts linked');
  }

  unlinked(guildId: string, { chatId, gameId, version }: Link): void {
    this.#changes.inc({ change: 'unlinked' });
    this.#log.info({ guild_id: guildId, chat_id: chatId, game_id: gameId, version }, 'accounts unlinked');
  }

  rejected(guildId: string, operationId: string, reason: 'linked already' | 'not linked'): void {
    this.#changes.inc({ change: 'refused' });
    this.#log.info({ guild_id: guildId, operation_id: operationId, reason }, 'account link change rejected');
  }
}

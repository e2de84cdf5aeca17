import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { Link } from './store/links.ts';

/** Counts and logs the changes of links between chat and game accounts. */
export class LookupTelemetry {
  readonly #changes;
  readonly #lookups;
  readonly #log: Logger;

  constructor(metrics: Metrics, log: Logger) {
    this.#changes = metrics.counter(
      'lookup_link_changes_total',
      'Requested changes of account links: links created (linked), removed (unlinked) and requests that were rejected',
      ['change'],
    );
    this.#lookups = metrics.counterOf(
      'lookup_lookups_total',
      'Users whom clients looked up, by whether the link was cached in memory or the database was read',
      'source',
      ['memory', 'database'],
    );
    this.#log = log;
  }

  /** Counts users whose link was cached, and those for whom the database was read. */
  found(cached: number, read: number): void {
    this.#lookups.inc({ source: 'memory' }, cached);
    this.#lookups.inc({ source: 'database' }, read);
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
    this.#changes.inc({ change: 'rejected' });
    this.#log.info({ guild_id: guildId, operation_id: operationId, reason }, 'account link change rejected');
  }
}

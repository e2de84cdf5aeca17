import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { Action, Punishment } from './domain/punishment.ts';
import type { ShieldEntry } from './domain/shield-entry.ts';
import type { Delivery } from './store/outbox.ts';

/** The metrics and log lines of the moderation service. The reasons of bans and mutes are never logged. */
export class ModerationTelemetry {
  readonly #checks;
  readonly #decisions;
  readonly #deliveries;
  readonly #deliverySeconds;
  readonly #shield;
  readonly #log: Logger;

  constructor(metrics: Metrics, log: Logger) {
    this.#checks = metrics.counter(
      'moderation_checks_total',
      'Players whose bans and mutes were checked, by whether they were cached in memory or read from the database',
      ['source'],
    );
    this.#decisions = metrics.counter(
      'moderation_decisions_total',
      'Moderation decisions (bans, mutes and their lifting) committed, by action, and those rejected (refused)',
      ['action'],
    );
    this.#deliveries = metrics.counterOf(
      'moderation_deliveries_total',
      'Attempts to deliver a moderation decision to the activity service, by outcome',
      'outcome',
      ['delivered', 'failed', 'refused', 'superseded'],
    );
    this.#deliverySeconds = metrics.duration(
      'moderation_delivery_delay_seconds',
      'Time from a moderation decision until it was delivered to the activity service',
    );
    this.#shield = metrics.counter(
      'moderation_shield_changes_total',
      'Entries added to or removed from the flagged list',
      ['change'],
    );
    this.#log = log;
  }

  /** Counts players whose status was found in the cache (`cached`) or read from the database (`read`). */
  checked(cached: number, read: number): void {
    this.#checks.inc({ source: 'memory' }, cached);
    this.#checks.inc({ source: 'database' }, read);
  }

  decided(guildId: string, action: Action, { id, gameId, placeId }: Punishment): void {
    this.#decisions.inc({ action });
    const fields = { guild_id: guildId, game_id: gameId, place_id: placeId, punishment_id: id, action };
    this.#log.info(fields, 'moderation decision committed');
  }

  rejected(guildId: string, gameId: number, code: string): void {
    this.#decisions.inc({ action: 'refused' });
    this.#log.info({ guild_id: guildId, game_id: gameId, code }, 'moderation decision rejected');
  }

  /**
   * Counts and logs a moderation decision that was delivered to the activity service. `delay` is the time from the
   * decision to its delivery, in milliseconds.
   */
  delivered(delivery: Delivery, delay: number): void {
    this.#deliveries.inc({ outcome: 'delivered' });
    this.#deliverySeconds.observe({}, Math.max(0, delay) / 1000);
    this.#log.debug(fieldsOf(delivery), 'moderation decision delivered to the activity service');
  }

  /**
   * Counts a delivery that failed, or that the activity service rejected permanently. The queue writes the log line.
   */
  notDelivered(isRetryable: boolean): void {
    this.#deliveries.inc({ outcome: isRetryable ? 'failed' : 'refused' });
  }

  /**
   * Counts and logs a moderation decision that is not delivered, because game servers already have a later decision
   * about the player, which the delivery would undo.
   */
  superseded(delivery: Delivery): void {
    this.#deliveries.inc({ outcome: 'superseded' });
    this.#log.info(
      fieldsOf(delivery),
      'moderation decision not delivered, because a later decision about the player was delivered before',
    );
  }

  /** Logs expiries that were reported as events; silent for 0. */
  expired(what: 'punishments' | 'flags', count: number): void {
    if (count > 0)
      this.#log.info({ expired: what, count }, 'recorded events for expired bans, mutes or flagged list entries');
  }

  shieldChanged(change: 'add' | 'remove', { guildId, gameId, category }: ShieldEntry, actor: string): void {
    this.#shield.inc({ change });
    this.#log.info(
      { guild_id: guildId, game_id: gameId, category, actor, change },
      'player added to or removed from the flagged list',
    );
  }
}

const fieldsOf = ({ guildId, eventId, action, gameId, attempt }: Delivery) => ({
  guild_id: guildId,
  event_id: eventId,
  action,
  game_id: gameId,
  attempt,
});

import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { Action, Punishment } from './domain/punishment.ts';
import type { ShieldEntry } from './domain/shield-entry.ts';
import type { Delivery } from './store/outbox.ts';

/** The metrics and log lines of moderation. The reasons of bans and mutes are never logged. */
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
      'Players whose status was checked, by whether it was cached in memory or read from the database',
      ['source'],
    );
    this.#decisions = metrics.counter(
      'moderation_decisions_total',
      'Decisions that were committed, by action, and decisions that were rejected (refused)',
      ['action'],
    );
    this.#deliveries = metrics.counterOf(
      'moderation_deliveries_total',
      'Attempts to deliver a decision to the activity service, by outcome',
      'outcome',
      ['delivered', 'failed', 'refused', 'superseded'],
    );
    this.#deliverySeconds = metrics.duration(
      'moderation_delivery_delay_seconds',
      'Time from a decision until it was delivered to activity',
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
    this.#log.info(fields, 'decision committed');
  }

  rejected(guildId: string, gameId: number, code: string): void {
    this.#decisions.inc({ action: 'refused' });
    this.#log.info({ guild_id: guildId, game_id: gameId, code }, 'decision rejected');
  }

  /** Counts and logs a delivered decision. `delay` is the time from the decision to its delivery, in milliseconds. */
  delivered(delivery: Delivery, delay: number): void {
    this.#deliveries.inc({ outcome: 'delivered' });
    this.#deliverySeconds.observe({}, Math.max(0, delay) / 1000);
    this.#log.debug(fieldsOf(delivery), 'decision delivered');
  }

  /** Counts a delivery that failed, or that activity rejected permanently. The queue writes the log line. */
  notDelivered(isRetryable: boolean): void {
    this.#deliveries.inc({ outcome: isRetryable ? 'failed' : 'refused' });
  }

  /**
   * Counts and logs a decision that is not delivered, because the delivery would undo a later decision on game servers.
   */
  superseded(delivery: Delivery): void {
    this.#deliveries.inc({ outcome: 'superseded' });
    this.#log.info(
      fieldsOf(delivery),
      'decision not delivered, because a later decision about the player was delivered before',
    );
  }

  /** Logs expiries that were reported as events; silent for 0. */
  expired(what: 'punishments' | 'flags', count: number): void {
    if (count > 0) this.#log.info({ expired: what, count }, 'expiries recorded as events');
  }

  shieldChanged(change: 'add' | 'remove', { guildId, gameId, category }: ShieldEntry, actor: string): void {
    this.#shield.inc({ change });
    this.#log.info({ guild_id: guildId, game_id: gameId, category, actor, change }, 'flagged list changed');
  }
}

const fieldsOf = ({ guildId, eventId, action, gameId, attempt }: Delivery) => ({
  guild_id: guildId,
  event_id: eventId,
  action,
  game_id: gameId,
  attempt,
});

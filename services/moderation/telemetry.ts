import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { Action, Punishment } from './domain/punishment.ts';
import type { ShieldEntry } from './domain/shield.ts';
import type { Delivery } from './store/outbox.ts';

/** What happens in moderation: a counter and a line in the log for each. Reasons are not logged. */
export class ModerationEvents {
  readonly #checks;
  readonly #decisions;
  readonly #deliveries;
  readonly #deliverySeconds;
  readonly #shield;
  readonly #log: Logger;

  constructor(metrics: Metrics, log: Logger) {
    this.#checks = metrics.counter('moderation_checks_total', 'Players asked about', ['source']);
    this.#decisions = metrics.counter('moderation_decisions_total', 'Decisions taken and refused', ['action']);
    this.#deliveries = metrics.counterOf(
      'moderation_deliveries_total',
      'Deliveries of decisions to activity',
      'outcome',
      ['delivered', 'failed', 'refused', 'superseded'],
    );
    this.#deliverySeconds = metrics.duration(
      'moderation_delivery_delay_seconds',
      'Time from a decision until activity has it',
    );
    this.#shield = metrics.counter('moderation_shield_changes_total', 'Changes of the flagged list', ['change']);
    this.#log = log;
  }

  /** So many players were answered from memory, so many from the database. */
  checked(remembered: number, read: number): void {
    this.#checks.inc({ source: 'memory' }, remembered);
    this.#checks.inc({ source: 'database' }, read);
  }

  decided(guildId: string, action: Action, { id, gameId, placeId }: Punishment): void {
    this.#decisions.inc({ action });
    const names = { guild_id: guildId, game_id: gameId, place_id: placeId, punishment_id: id };
    this.#log.info({ ...names, action }, 'a decision was taken');
  }

  refused(guildId: string, gameId: number, code: string): void {
    this.#decisions.inc({ action: 'refused' });
    this.#log.info({ guild_id: guildId, game_id: gameId, code }, 'a decision was refused');
  }

  /** Activity has it; `delay` in milliseconds since the decision. */
  delivered(delivery: Delivery, delay: number): void {
    this.#deliveries.inc({ outcome: 'delivered' });
    this.#deliverySeconds.observe({}, Math.max(0, delay) / 1000);
    this.#log.debug(namesOf(delivery), 'decision delivered');
  }

  /** Activity failed, or it refused the decision for good. The queue logs which one. */
  notDelivered(isRetryable: boolean): void {
    this.#deliveries.inc({ outcome: isRetryable ? 'failed' : 'refused' });
  }

  /** Delivering it now would undo a later decision on game servers. */
  superseded(delivery: Delivery): void {
    this.#deliveries.inc({ outcome: 'superseded' });
    this.#log.info(namesOf(delivery), 'decision not delivered, a later one was delivered before');
  }

  shieldChanged(change: 'add' | 'remove', { guildId, gameId, category }: ShieldEntry, actor: string): void {
    this.#shield.inc({ change });
    this.#log.info({ guild_id: guildId, game_id: gameId, category, actor, change }, 'the flagged list was changed');
  }
}

const namesOf = ({ guildId, eventId, action, gameId, attempt }: Delivery) => ({
  guild_id: guildId,
  event_id: eventId,
  action,
  game_id: gameId,
  attempt,
});

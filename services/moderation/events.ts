import { asApiError } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { Metrics } from '#kit/metrics.ts';
import type { Action, Punishment } from './domain/punishment.ts';
import type { ShieldEntry } from './domain/shield.ts';
import type { Event } from './store/outbox.ts';

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
    this.#deliveries = metrics.counterOf('moderation_deliveries_total', 'Decisions told to activity', 'outcome', [
      'delivered',
      'failed',
      'refused',
    ]);
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
  delivered(event: Event, delay: number): void {
    this.#deliveries.inc({ outcome: 'delivered' });
    this.#deliverySeconds.observe({}, Math.max(0, delay) / 1000);
    this.#log.debug(namesOf(event), 'a decision was delivered');
  }

  /** It is tried again. */
  notDelivered(event: Event, error: unknown): void {
    this.#deliveries.inc({ outcome: 'failed' });
    this.#log.warn({ ...namesOf(event), code: asApiError(error).code }, 'a decision has to be delivered later');
  }

  /** Activity will never take it; the next ones must not wait for it. */
  deliveryRefused(event: Event, error: unknown): void {
    this.#deliveries.inc({ outcome: 'refused' });
    this.#log.error({ ...namesOf(event), err: error }, 'activity refused a decision, it is given up');
  }

  relayFailed(error: unknown): void {
    this.#log.warn({ err: error }, 'decisions to be delivered could not be looked for');
  }

  shieldChanged(change: 'add' | 'remove', { guildId, gameId, category }: ShieldEntry, actor: string): void {
    this.#shield.inc({ change });
    this.#log.info({ guild_id: guildId, game_id: gameId, category, actor, change }, 'the flagged list was changed');
  }
}

const namesOf = ({ guildId, eventId, action, gameId, failures }: Event) => ({
  guild_id: guildId,
  event_id: eventId,
  action,
  game_id: gameId,
  failures,
});

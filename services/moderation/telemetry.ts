import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { Action, Punishment } from './domain/punishment.ts';
import { STEPS, type Step } from './domain/restrictions/decide.ts';
import type { RestrictionScope } from './domain/restrictions/restriction-state.ts';
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
      'Moderation decisions (bans, mutes and their lifting) committed, by action, and those rejected',
      ['action'],
    );
    this.#deliveries = metrics.counterOf(
      'moderation_deliveries_total',
      'Attempts to deliver a moderation decision to the activity service, by outcome',
      'outcome',
      ['delivered', 'failed', 'rejected', 'superseded'],
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
    this.#decisions.inc({ action: 'rejected' });
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
    this.#deliveries.inc({ outcome: isRetryable ? 'failed' : 'rejected' });
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
      `player ${change === 'add' ? 'added to' : 'removed from'} the flagged list`,
    );
  }
}

const TIMEOUT_OUTCOMES = [
  'equal',
  'timed_out',
  'timeout_ended',
  'muted',
  'unmuted',
  'not_linked',
  'no_member',
  'not_permitted',
] as const;

/** Metrics and log lines of mutes that are mirrored to timeouts on the chat platform and back. */
export class TimeoutTelemetry {
  readonly #comparisons;
  readonly #log: Logger;

  constructor(metrics: Metrics, log: Logger) {
    this.#comparisons = metrics.counterOf(
      'moderation_timeout_comparisons_total',
      'Comparisons of a mute with the timeout on the chat platform, by what made both equal, or why nothing could',
      'outcome',
      TIMEOUT_OUTCOMES,
    );
    this.#log = log;
  }

  compared(outcome: (typeof TIMEOUT_OUTCOMES)[number]): void {
    this.#comparisons.inc({ outcome });
  }

  /** The chat platform rejected a change of a timeout. */
  rejected(guildId: string, outcome: 'no_member' | 'not_permitted'): void {
    this.compared(outcome);
    this.#log.warn(
      { guild_id: guildId, outcome },
      'chat platform rejected a change of a timeout, the timeout and the mute differ',
    );
  }
}

/** The metrics and log lines of the mirror of bans on the game platform. */
export class MirrorTelemetry {
  readonly #steps;
  readonly #drift;
  readonly #checks;
  readonly #universes;
  readonly #log: Logger;

  constructor(metrics: Metrics, log: Logger) {
    this.#steps = metrics.counterOf(
      'moderation_mirror_steps_total',
      'Comparisons of a ban with its restriction on the game platform, by what made both equal',
      'step',
      STEPS,
    );
    this.#drift = metrics.counter(
      'moderation_mirror_drift_total',
      'Differences between bans and restrictions on the game platform that a comparison of all bans found unexpectedly',
    );
    this.#checks = metrics.counterOf(
      'moderation_mirror_checks_total',
      'Readings of what was changed in a universe on the game platform, by outcome',
      'outcome',
      ['read', 'failed'],
    );
    this.#universes = metrics.counter(
      'moderation_mirror_conflicts_total',
      'Universes in the settings of a guild to which the bans of another guild are already mirrored',
    );
    this.#log = log;
  }

  /** Counts a ban and a restriction that are equal now; logs if one of them was changed. */
  settled(step: Step, guildId: string, gameId: number, { universeId, placeId }: RestrictionScope): void {
    this.#steps.inc({ step });
    if (step === 'agree' || step === 'wait') return;
    const fields = { guild_id: guildId, game_id: gameId, universe_id: universeId, place_id: placeId, step };
    this.#log.info(fields, 'ban and restriction on the game platform made equal');
  }

  /** Counts a reading of a universe. */
  checked(): void {
    this.#checks.inc({ outcome: 'read' });
  }

  checkFailed(guildId: string, universeId: number, error: unknown): void {
    this.#checks.inc({ outcome: 'failed' });
    const fields = { guild_id: guildId, universe_id: universeId, err: error };
    this.#log.warn(fields, 'failed to read the restrictions of a universe on the game platform, will retry');
  }

  /** Counts and logs a comparison of all bans with the restrictions of a universe. */
  reconciled(guildId: string, universeId: number, compared: number, drifted: number): void {
    this.#drift.inc(drifted);
    const fields = { guild_id: guildId, universe_id: universeId, compared, drifted };
    this.#log.info(fields, 'all bans compared with the restrictions of a universe');
  }

  /** Logs a comparison that was given up; the reading of the universe itself succeeds. */
  reconciliationPostponed(guildId: string, universeId: number, error: Error): void {
    const fields = { guild_id: guildId, universe_id: universeId, err: error };
    this.#log.warn(fields, 'comparison of all bans postponed to the next night: too many restrictions');
  }

  /** Counts and logs universes that belong to another guild. */
  conflicted(guildId: string, universeIds: readonly number[]): void {
    this.#universes.inc(universeIds.length);
    const fields = { guild_id: guildId, universe_ids: universeIds };
    this.#log.warn(fields, 'bans are not mirrored to universes that are used by another guild');
  }
}

const fieldsOf = ({ guildId, eventId, action, gameId, attempt }: Delivery) => ({
  guild_id: guildId,
  event_id: eventId,
  action,
  game_id: gameId,
  attempt,
});

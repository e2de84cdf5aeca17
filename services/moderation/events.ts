import type { EventRecorder, RecordedEvent } from '#kit/events/recorder.ts';
import type { Transaction } from '#kit/postgres/pool.ts';
import type { Punishment } from './domain/punishment.ts';
import type { ShieldEntry } from './domain/shield-entry.ts';
import { liftedPunishmentEventView, punishmentView, shieldView } from './http/views.ts';
import type { DifferenceState } from './store/restriction-drift.ts';

/** The events that moderation records: each function returns one for `record`. */
export class ModerationEvents {
  readonly #recorder: EventRecorder;

  constructor(recorder: EventRecorder) {
    this.#recorder = recorder;
  }

  /** Records events as the last step of a transaction, in the order given. */
  record(transaction: Transaction, events: readonly RecordedEvent[]): Promise<void> {
    return this.#recorder.record(transaction, events);
  }

  created(guildId: string, punishment: Punishment): RecordedEvent {
    return { guildId, type: `${punishment.kind}.created`, data: punishmentView(punishment) };
  }

  lifted(guildId: string, punishment: Punishment, liftedAt: Date): RecordedEvent {
    const data = liftedPunishmentEventView(punishment, liftedAt);
    return { guildId, type: `${punishment.kind}.lifted`, data, before: punishmentView(punishment) };
  }

  expired(guildId: string, punishment: Punishment): RecordedEvent {
    return { guildId, type: `${punishment.kind}.expired`, data: punishmentView(punishment) };
  }

  /** A comparison of all bans found a difference that nothing was going to resolve. */
  drifted(guildId: string, { universeId, ...state }: DifferenceState & { universeId: number }): RecordedEvent {
    const { gameId, placeId, banId } = state;
    const data = { game_id: gameId, universe_id: universeId, place_id: placeId, ban_id: banId };
    return { guildId, type: 'ban.drifted', data };
  }

  /** A player was put on the guild's flagged list, or the entry `replaced` was replaced. */
  shieldAdded(entry: ShieldEntry, replaced: ShieldEntry | undefined): RecordedEvent {
    const before = replaced && { before: shieldView(replaced) };
    return { guildId: entry.guildId, type: 'shield.added', data: shieldView(entry), ...before };
  }

  /** An entry of the guild's flagged list was removed or has expired. */
  shieldRemoved(entry: ShieldEntry): RecordedEvent {
    return { guildId: entry.guildId, type: 'shield.removed', data: shieldView(entry) };
  }
}

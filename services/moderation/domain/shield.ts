import type { Clock } from '#kit/clock.ts';
import { ApiError, quotaExceeded } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { ModerationEvents } from '../events.ts';
import * as store from '../store/shield.ts';
import type { ModerationTelemetry } from '../telemetry.ts';
import { ALL_GUILDS, type ShieldEntry } from './shield-entry.ts';

export interface ShieldOptions {
  database: Database;
  clock: Clock;
  /** The maximum number of entries in a guild's own flagged list. The flagged list for all guilds has no maximum. */
  maxEntries: number;
  telemetry: ModerationTelemetry;
  events: ModerationEvents;
  /** Called with the guild ID after an entry of the guild's list of flagged players was added, replaced or removed. */
  onChange: (guildId: string) => void;
}

/**
 * Adds, removes and lists entries of the flagged list: players whom operators have flagged, in one guild or in all
 * guilds. Changes of a guild's own list are reported as events; changes of the list for all guilds are not.
 */
export class Shield {
  readonly #options: ShieldOptions;

  constructor(options: ShieldOptions) {
    this.#options = options;
  }

  /**
   * Adds an entry to the flagged list, or replaces the player's entry. Throws QUOTA_EXCEEDED if the entry is new and
   * the list is full.
   */
  async add(entry: Omit<ShieldEntry, 'flaggedAt'>): Promise<ShieldEntry> {
    const { database, clock, maxEntries, telemetry, events, onChange } = this.#options;
    const added = { ...entry, flaggedAt: new Date(clock.now()) };
    const max = entry.guildId === ALL_GUILDS ? undefined : maxEntries;
    const isAdded = await database.transaction(async (transaction) => {
      if (max !== undefined) await store.lockList(transaction, entry.guildId);
      const isPut = await store.putEntry(transaction, added, max);
      if (isPut && entry.guildId !== ALL_GUILDS) await events.record(transaction, [events.shieldAdded(added)]);
      return isPut;
    });
    if (!isAdded) {
      const message = `The guild has ${maxEntries} entries in its flagged list, which is the maximum`;
      throw quotaExceeded('shield_entries', maxEntries, message);
    }
    onChange(entry.guildId);
    telemetry.shieldChanged('add', added, entry.actor);
    return added;
  }

  /** Removes a player's entry from the flagged list; `actor` is the operator. Throws NOT_FOUND if there is no entry. */
  async remove(guildId: string, gameId: number, actor: string): Promise<ShieldEntry> {
    const { telemetry, onChange } = this.#options;
    const removed = await this.#delete(guildId, gameId);
    if (!removed) throw new ApiError('NOT_FOUND', { message: 'The player is not on this list' });
    onChange(guildId);
    telemetry.shieldChanged('remove', removed, actor);
    return removed;
  }

  /** Returns a page of the flagged list, ordered by the player's game ID. Includes expired entries. */
  list(guildId: string, limit: number, afterGameId: number): Promise<ShieldEntry[]> {
    return store.listEntries(this.#options.database, guildId, limit, afterGameId);
  }

  #delete(guildId: string, gameId: number): Promise<ShieldEntry | undefined> {
    const { database, events } = this.#options;
    if (guildId === ALL_GUILDS) return store.deleteEntry(database, guildId, gameId);
    return database.transaction(async (transaction) => {
      const removed = await store.deleteEntry(transaction, guildId, gameId);
      // Readers of events know since its expiry that the entry no longer counts.
      if (removed && !removed.isExpiryReported) await events.record(transaction, [events.shieldRemoved(removed)]);
      return removed;
    });
  }
}

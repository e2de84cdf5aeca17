import type { Clock } from '#kit/clock.ts';
import { ApiError, quotaExceeded } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/pool.ts';
import * as store from '../store/shield.ts';
import type { ModerationTelemetry } from '../telemetry.ts';
import { ALL_GUILDS, type ShieldEntry } from './shield-entry.ts';

export interface ShieldOptions {
  database: Database;
  clock: Clock;
  /** The maximum number of entries in a guild's own list. The list for all guilds has no maximum. */
  maxEntries: number;
  telemetry: ModerationTelemetry;
  /** Called with the guild after each change. */
  onChange: (guildId: string) => void;
}

/** The flagged list, which operators maintain. */
export class Shield {
  readonly #options: ShieldOptions;

  constructor(options: ShieldOptions) {
    this.#options = options;
  }

  /** Adds an entry, or replaces the player's entry. QUOTA_EXCEEDED if the entry is new and the list is full. */
  async add(entry: Omit<ShieldEntry, 'flaggedAt'>): Promise<ShieldEntry> {
    const { database, clock, maxEntries, telemetry, onChange } = this.#options;
    const added = { ...entry, flaggedAt: new Date(clock.now()) };
    const max = entry.guildId === ALL_GUILDS ? undefined : maxEntries;
    const isAdded = await database.transaction(async (transaction) => {
      if (max !== undefined) await store.lockList(transaction, entry.guildId);
      return store.putEntry(transaction, added, max);
    });
    if (!isAdded) {
      const message = `The guild has ${maxEntries} entries in its flagged list, which is the maximum`;
      throw quotaExceeded('shield_entries', maxEntries, message);
    }
    onChange(entry.guildId);
    telemetry.shieldChanged('add', added, entry.actor);
    return added;
  }

  /** Removes the entry of a player; NOT_FOUND if there is none. `actor` is the operator. */
  async remove(guildId: string, gameId: number, actor: string): Promise<ShieldEntry> {
    const { database, telemetry, onChange } = this.#options;
    const removed = await store.deleteEntry(database, guildId, gameId);
    if (!removed) throw new ApiError('NOT_FOUND', { message: 'The player is not on this list' });
    onChange(guildId);
    telemetry.shieldChanged('remove', removed, actor);
    return removed;
  }

  /** A page of the list, ordered by player. Includes expired entries. */
  list(guildId: string, limit: number, afterGameId: number): Promise<ShieldEntry[]> {
    return store.listEntries(this.#options.database, guildId, limit, afterGameId);
  }
}

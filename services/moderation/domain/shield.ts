import type { Clock } from '#kit/clock.ts';
import { ApiError, quotaExceeded } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/pool.ts';
import * as store from '../store/shield.ts';
import type { ModerationEvents } from '../telemetry.ts';

/** A flagged player. */
export interface ShieldEntry {
  /** ALL_GUILDS, or the one in which it counts. */
  guildId: string;
  gameId: number;
  gameUsername: string | null;
  reason: string;
  category: string;
  /** Who says so. */
  source: string;
  /** Who added it. */
  actor: string;
  flaggedAt: Date;
  /** null: until it is removed. */
  expiresAt: Date | null;
}

/** Stands for every guild where an entry names one. */
export const ALL_GUILDS = '0';

/** The entry that is told at a time, in Unix milliseconds: the guild's own before one for all. */
export function toldEntry(entries: readonly ShieldEntry[], now: number): ShieldEntry | undefined {
  const counting = entries.filter(({ expiresAt }) => expiresAt === null || expiresAt.getTime() > now);
  return counting.find(({ guildId }) => guildId !== ALL_GUILDS) ?? counting[0];
}

export interface ShieldOptions {
  database: Database;
  clock: Clock;
  /** Entries that a guild's own list may have; the list for all guilds has no maximum. */
  maxEntries: number;
  events: ModerationEvents;
  /** Called with the guild after each change. */
  changed: (guildId: string) => void;
}

/** The flagged list, as operators keep it. */
export class Shield {
  readonly #options: ShieldOptions;

  constructor(options: ShieldOptions) {
    this.#options = options;
  }

  /** Puts a player on the list, in place of an entry that is there. QUOTA_EXCEEDED for a new one where it is full. */
  async add(entry: Omit<ShieldEntry, 'flaggedAt'>): Promise<ShieldEntry> {
    const { database, clock, maxEntries, events, changed } = this.#options;
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
    changed(entry.guildId);
    events.shieldChanged('add', added, entry.actor);
    return added;
  }

  /** Takes a player off the list; NOT_FOUND who is not on it. */
  async remove(guildId: string, gameId: number, actor: string): Promise<ShieldEntry> {
    const { database, events, changed } = this.#options;
    const removed = await store.deleteEntry(database, guildId, gameId);
    if (!removed) throw new ApiError('NOT_FOUND', { message: 'The player is not on this list' });
    changed(guildId);
    events.shieldChanged('remove', removed, actor);
    return removed;
  }

  /** A page of the list, ordered by player; entries that have expired too. */
  list(guildId: string, limit: number, afterGameId: number): Promise<ShieldEntry[]> {
    return store.listEntries(this.#options.database, guildId, limit, afterGameId);
  }
}

import { type GuildCount, MAX_COUNTED, upToLimit } from '#kit/guild-state/count.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { countActive } from '../store/reads.ts';
import { countEntries } from '../store/shield.ts';

/** Counts the active bans and mutes and the flagged players of a guild. */
export class GuildState {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  counts = async (guildId: string): Promise<GuildCount[]> => {
    const limit = MAX_COUNTED + 1;
    // One after the other: a call occupies one connection of the pool.
    return [
      upToLimit('active_bans', await countActive(this.#database, guildId, 'ban', limit)),
      upToLimit('active_mutes', await countActive(this.#database, guildId, 'mute', limit)),
      upToLimit('flagged_players', await countEntries(this.#database, guildId, limit)),
    ];
  };
}

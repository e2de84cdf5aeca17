import type { Clock } from '#kit/clock.ts';
import { ALL_GUILDS } from './shield-entry.ts';
import type { Standing } from './standing.ts';

/**
 * The maximum number of guilds for which the cache has a generation of their own. A change in one more guild
 * invalidates the whole cache.
 */
const MAX_GENERATIONS = 10_000;

/**
 * The state of the cache when a read of the database began: the guild's generation, and the time in Unix milliseconds.
 */
export interface PendingLoad {
  generation: number;
  startedAt: number;
}

interface Entry {
  standing: Standing;
  generation: number;
  expiresAt: number;
}

export interface StandingCacheOptions {
  clock: Clock;
  ttlMs: number;
  /** The maximum number of cached standings. If the cache is full, the least recently used standing is evicted. */
  max: number;
}

/**
 * Caches standings (a player's bans, mutes and flags) by guild, player and place. A change in a guild starts a new
 * generation of this guild. Cached standings of an older generation are invalid, and so are the results of reads that
 * began before the change.
 */
export class StandingCache {
  readonly #options: StandingCacheOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #generations = new Map<string, number>();
  /** The generation of all guilds that have not changed since the whole cache was invalidated. */
  #baseGeneration = 0;
  #latestGeneration = 0;

  constructor(options: StandingCacheOptions) {
    this.#options = options;
  }

  find(guildId: string, gameId: number, placeId: number | null): Standing | undefined {
    const key = keyOf(guildId, gameId, placeId);
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    if (entry.generation !== this.#generationOf(guildId)) return undefined;
    if (entry.expiresAt <= this.#options.clock.now()) return undefined;
    this.#entries.set(key, entry);
    return entry.standing;
  }

  /** Records the state of the cache for a read. Must be called before the query is sent to the database. */
  beginLoad(guildId: string): PendingLoad {
    return { generation: this.#generationOf(guildId), startedAt: this.#options.clock.now() };
  }

  /** Caches the standing that a read returned, unless the guild has changed since the read began. */
  store(
    { generation, startedAt }: PendingLoad,
    guildId: string,
    gameId: number,
    placeId: number | null,
    standing: Standing,
  ): void {
    const { ttlMs, max } = this.#options;
    if (generation !== this.#generationOf(guildId)) return;
    const key = keyOf(guildId, gameId, placeId);
    this.#entries.delete(key);
    this.#entries.set(key, { standing, generation, expiresAt: startedAt + ttlMs });
    const [leastRecent] = this.#entries.keys();
    if (this.#entries.size > max && leastRecent !== undefined) this.#entries.delete(leastRecent);
  }

  /** Invalidates the cached standings of a guild, or with ALL_GUILDS the whole cache. */
  invalidate(guildId: string): void {
    if (guildId === ALL_GUILDS || this.#generations.size >= MAX_GENERATIONS) return this.invalidateAll();
    this.#generations.set(guildId, ++this.#latestGeneration);
  }

  /** Invalidates the whole cache, because notifications of changes may have been missed. */
  invalidateAll(): void {
    this.#entries.clear();
    this.#generations.clear();
    this.#baseGeneration = ++this.#latestGeneration;
  }

  #generationOf(guildId: string): number {
    return this.#generations.get(guildId) ?? this.#baseGeneration;
  }
}

const keyOf = (guildId: string, gameId: number, placeId: number | null) => `${guildId}/${gameId}/${placeId ?? ''}`;

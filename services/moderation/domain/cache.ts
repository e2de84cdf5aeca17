import type { Clock } from '#kit/clock.ts';
import { ALL_GUILDS } from './shield.ts';
import type { Standing } from './standings.ts';

/** Guilds whose changes are told apart; past that everything is forgotten at once. */
const MOST_GUILDS = 10_000;

/** What was read from the database, and when. */
export interface Fill {
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
  /** The most users; the least recently asked about goes first. */
  max: number;
}

/**
 * Remembers standings by guild, user and place. A change of a guild starts a new generation of it: what is of an
 * older one, also what was being read meanwhile, no longer counts.
 */
export class StandingCache {
  readonly #options: StandingCacheOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #generations = new Map<string, number>();
  /** Of guilds that have not changed since all was forgotten. */
  #oldest = 0;
  #newest = 0;

  constructor(options: StandingCacheOptions) {
    this.#options = options;
  }

  find(guildId: string, gameId: number, placeId: number | null): Standing | undefined {
    const key = keyOf(guildId, gameId, placeId);
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    if (entry.generation !== this.#generation(guildId)) return undefined;
    if (entry.expiresAt <= this.#options.clock.now()) return undefined;
    this.#entries.set(key, entry);
    return entry.standing;
  }

  /** To be called before the database is asked. */
  beginFill(guildId: string): Fill {
    return { generation: this.#generation(guildId), startedAt: this.#options.clock.now() };
  }

  /** Remembers what was read, unless the guild has changed since. */
  store(
    { generation, startedAt }: Fill,
    guildId: string,
    gameId: number,
    placeId: number | null,
    standing: Standing,
  ): void {
    const { ttlMs, max } = this.#options;
    if (generation !== this.#generation(guildId)) return;
    const key = keyOf(guildId, gameId, placeId);
    this.#entries.delete(key);
    this.#entries.set(key, { standing, generation, expiresAt: startedAt + ttlMs });
    const [leastRecent] = this.#entries.keys();
    if (this.#entries.size > max && leastRecent !== undefined) this.#entries.delete(leastRecent);
  }

  /** Something changed in the guild, or in all. */
  drop(guildId: string): void {
    if (guildId === ALL_GUILDS || this.#generations.size >= MOST_GUILDS) return this.dropAll();
    this.#generations.set(guildId, ++this.#newest);
  }

  /** Changes may have been missed. */
  dropAll(): void {
    this.#entries.clear();
    this.#generations.clear();
    this.#oldest = ++this.#newest;
  }

  #generation(guildId: string): number {
    return this.#generations.get(guildId) ?? this.#oldest;
  }
}

const keyOf = (guildId: string, gameId: number, placeId: number | null) => `${guildId}/${gameId}/${placeId ?? ''}`;

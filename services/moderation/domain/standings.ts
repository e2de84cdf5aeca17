import type { Clock } from '#kit/clock.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { findStandings, type StandingRow } from '../store/standings.ts';
import type { ModerationEvents } from '../telemetry.ts';
import type { StandingCache } from './cache.ts';
import { inForce, type Kind, type Punishment } from './punishment.ts';
import { type ShieldEntry, toldEntry } from './shield.ts';

/** All that counts for a user, everywhere and in one place; whether it still does is judged when it is read. */
export class Standing {
  readonly #punishments: readonly Punishment[];
  readonly #entries: readonly ShieldEntry[];

  constructor(rows: readonly StandingRow[]) {
    this.#punishments = rows.filter((row) => row.kind !== 'flag');
    this.#entries = rows.filter((row) => row.kind === 'flag');
  }

  /** The ban or mute in force at a time, in Unix milliseconds. */
  punishment(kind: Kind, now: number): Punishment | undefined {
    return inForce(this.#punishments, kind, now);
  }

  /** The entry of the flagged list at a time, in Unix milliseconds. */
  entry(now: number): ShieldEntry | undefined {
    return toldEntry(this.#entries, now);
  }
}

export interface StandingQuestion {
  guildId: string;
  gameIds: readonly number[];
  /** null: only what counts everywhere. */
  placeId: number | null;
  /** Read from the database. */
  noCache?: boolean;
}

export interface StandingsOptions {
  database: Queryable;
  cache: StandingCache;
  clock: Clock;
  /** Whether changes that other replicas make are heard. */
  isHearing: () => boolean;
  events: ModerationEvents;
}

/** What is known of users, from memory where that is sure to be true. */
export class Standings {
  readonly #options: StandingsOptions;

  constructor(options: StandingsOptions) {
    this.#options = options;
  }

  /** The standing of each user; one statement for all that are not remembered, none where all are. */
  async find({ guildId, gameIds, placeId, noCache = false }: StandingQuestion): Promise<Map<number, Standing>> {
    const { cache, events, isHearing } = this.#options;
    const mayRemember = !noCache && isHearing();
    const standings = new Map<number, Standing>();
    const missing = new Set<number>();
    for (const gameId of gameIds) {
      const standing = mayRemember ? cache.find(guildId, gameId, placeId) : undefined;
      if (standing) standings.set(gameId, standing);
      else missing.add(gameId);
    }
    events.checked(standings.size, missing.size);
    if (missing.size === 0) return standings;
    for (const [gameId, standing] of await this.#load(guildId, [...missing], placeId)) standings.set(gameId, standing);
    return standings;
  }

  async #load(guildId: string, gameIds: number[], placeId: number | null): Promise<[number, Standing][]> {
    const { database, cache, clock } = this.#options;
    const fill = cache.beginFill(guildId);
    const rows = await findStandings(database, guildId, gameIds, placeId, new Date(clock.now()));
    return gameIds.map((gameId) => {
      const standing = new Standing(rows.filter((row) => row.gameId === gameId));
      cache.store(fill, guildId, gameId, placeId, standing);
      return [gameId, standing];
    });
  }
}

import type { ReadCache } from '#kit/changes/read-cache.ts';
import type { Clock } from '#kit/clock.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { SharedReads } from '#kit/postgres/shared-reads.ts';
import { findStandings, type StandingsRequest } from '../store/standings.ts';
import type { ModerationTelemetry } from '../telemetry.ts';
import { Standing, type StandingRow } from './standing.ts';

export interface StandingQuery {
  guildId: string;
  gameIds: readonly number[];
  /** The ID of a place whose punishments are included; null for only the punishments that apply everywhere. */
  placeId: number | null;
  /** If true, the cache is not used, and the database is read. */
  noCache?: boolean;
}

export interface StandingsOptions {
  database: Queryable;
  /** Invalidated by guild. */
  cache: ReadCache<Standing>;
  clock: Clock;
  /**
   * Returns true if this replica receives the change notifications of other replicas. Otherwise the cache is not used.
   */
  isReceiving: () => boolean;
  telemetry: ModerationTelemetry;
}

/** Finds the standings (bans, mutes and flags) of players. The cache is used only while change notifications arrive. */
export class Standings {
  readonly #options: StandingsOptions;
  readonly #reads: SharedReads<StandingsRequest, StandingRow[]>;

  constructor(options: StandingsOptions) {
    this.#options = options;
    const { database, clock } = options;
    this.#reads = new SharedReads<StandingsRequest, StandingRow[]>((requests) =>
      findStandings(database, requests, new Date(clock.now())),
    );
  }

  /**
   * Returns the standing of each player. One SQL statement reads the standings of all players that are not cached, for
   * all requests that arrive together.
   */
  async find({ guildId, gameIds, placeId, noCache = false }: StandingQuery): Promise<Map<number, Standing>> {
    const { cache, telemetry, isReceiving } = this.#options;
    const canUseCache = !noCache && isReceiving();
    const standings = new Map<number, Standing>();
    const missing = new Set<number>();
    for (const gameId of gameIds) {
      const standing = canUseCache ? cache.find(guildId, keyOf(guildId, gameId, placeId)) : undefined;
      if (standing) standings.set(gameId, standing);
      else missing.add(gameId);
    }
    telemetry.checked(standings.size, missing.size);
    if (missing.size === 0) return standings;
    for (const [gameId, standing] of await this.#load(guildId, [...missing], placeId)) standings.set(gameId, standing);
    return standings;
  }

  async #load(guildId: string, gameIds: number[], placeId: number | null): Promise<[number, Standing][]> {
    const { cache } = this.#options;
    const read = cache.beginRead();
    const rows = await this.#reads.load({ guildId, gameIds, placeId });
    return gameIds.map((gameId) => {
      const standing = new Standing(rows.filter((row) => row.gameId === gameId));
      cache.store(read, guildId, keyOf(guildId, gameId, placeId), standing);
      return [gameId, standing];
    });
  }
}

const keyOf = (guildId: string, gameId: number, placeId: number | null) => `${guildId}/${gameId}/${placeId ?? ''}`;

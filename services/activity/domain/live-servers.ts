import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import * as store from '../store/servers.ts';

/** Reads the live game servers of a guild, as their last heartbeats described them. */
export class LiveServers {
  readonly #database: Queryable;
  readonly #clock: Clock;

  constructor(database: Queryable, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /**
   * Returns a page of the live servers of a guild, or of one of its places, ordered by ID. `after` is the `next` of the
   * previous page, and empty for the first page.
   */
  async list(
    guildId: string,
    { placeId, after, limit }: { placeId: number | undefined; after: string; limit: number },
  ): Promise<{ servers: store.LiveServer[]; next: string | undefined }> {
    const found = await store.listServers(this.#database, guildId, { placeId, after, limit: limit + 1 }, this.#now());
    const servers = found.slice(0, limit);
    return { servers, next: found.length > limit ? servers.at(-1)?.serverId : undefined };
  }

  /** Returns a live server with its players. Throws NOT_FOUND if the guild has no such live server. */
  async get(guildId: string, serverId: string): Promise<store.ServerWithPlayers> {
    const server = await store.findServer(this.#database, guildId, serverId, this.#now());
    if (!server) throw new ApiError('NOT_FOUND', { message: 'No such live server in this guild' });
    return server;
  }

  /** Returns the live server on which a player was last reported; undefined if no live server reports the player. */
  ofPlayer(guildId: string, gameId: number): Promise<store.LiveServer | undefined> {
    return store.findServerOfPlayer(this.#database, guildId, gameId, this.#now());
  }

  #now(): Date {
    return new Date(this.#clock.now());
  }
}

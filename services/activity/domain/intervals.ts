import type { Queryable } from '#kit/postgres/pool.ts';
import { MIN_INTERVAL_SECONDS } from '#proto/rest/activity/servers.ts';
import { readIntervals } from '../store/servers.ts';

/** Reads the heartbeat intervals of guilds; all reads of one turn of the event loop share one SQL statement. */
export class Intervals {
  readonly #database: Queryable;
  #batch: { guildIds: Set<string>; intervals: Promise<Map<string, number>> } | undefined;

  constructor(database: Queryable) {
    this.#database = database;
  }

  /** Returns the interval in which the game servers of a guild should send heartbeats and polls, in seconds. */
  async read(guildId: string): Promise<number> {
    this.#batch ??= this.#newBatch();
    this.#batch.guildIds.add(guildId);
    return (await this.#batch.intervals).get(guildId) ?? MIN_INTERVAL_SECONDS;
  }

  #newBatch() {
    const guildIds = new Set<string>();
    const endOfTurn = new Promise((resolve) => setImmediate(resolve));
    const intervals = endOfTurn.then(async () => {
      this.#batch = undefined;
      const rows = await readIntervals(this.#database, [...guildIds]);
      return new Map(rows.map(({ guildId: id, intervalSeconds }) => [id, intervalSeconds]));
    });
    return { guildIds, intervals };
  }
}

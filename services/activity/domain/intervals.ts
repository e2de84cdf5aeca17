import type { Queryable } from '#kit/postgres/pool.ts';
import { SHORTEST_INTERVAL_SECONDS } from '#proto/rest/activity/servers.ts';
import { readIntervals } from '../store/servers.ts';

/** How often the servers of a guild may call; read for all that ask in one turn of the event loop by one statement. */
export class Intervals {
  readonly #database: Queryable;
  #next: { guildIds: Set<string>; answer: Promise<Map<string, number>> } | undefined;

  constructor(database: Queryable) {
    this.#database = database;
  }

  /** Seconds. */
  async of(guildId: string): Promise<number> {
    this.#next ??= this.#gather();
    this.#next.guildIds.add(guildId);
    return (await this.#next.answer).get(guildId) ?? SHORTEST_INTERVAL_SECONDS;
  }

  #gather() {
    const guildIds = new Set<string>();
    const turn = new Promise((resolve) => setImmediate(resolve));
    const answer = turn.then(async () => {
      this.#next = undefined;
      const rows = await readIntervals(this.#database, [...guildIds]);
      return new Map(rows.map(({ guildId: id, intervalSeconds }) => [id, intervalSeconds]));
    });
    return { guildIds, answer };
  }
}

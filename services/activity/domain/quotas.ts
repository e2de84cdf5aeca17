import type { Clock } from '#kit/clock.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { QuotaUse } from '#kit/usage/quota-use.ts';
import { readDay } from '../store/daily-counts.ts';
import { countServers } from '../store/servers.ts';

export interface QuotasOptions {
  database: Queryable;
  clock: Clock;
  maxLiveServers: number;
  maxActionsPerDay: number;
}

/** Reads how much of the quotas of this service a guild uses. */
export class Quotas {
  readonly #options: QuotasOptions;

  constructor(options: QuotasOptions) {
    this.#options = options;
  }

  async of(guildId: string): Promise<QuotaUse[]> {
    const { database, clock, maxLiveServers, maxActionsPerDay } = this.#options;
    const now = new Date(clock.now());
    return [
      { quota: 'live_servers', limit: maxLiveServers, used: await countServers(database, guildId, undefined, now) },
      {
        quota: 'staff_actions_per_day',
        limit: maxActionsPerDay,
        used: await readDay(database, guildId, 'actions', now),
      },
    ];
  }
}

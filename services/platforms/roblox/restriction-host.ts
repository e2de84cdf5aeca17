import { CallBudget } from '../budget/budget.ts';
import { PlatformLimits } from '../budget/limits.ts';
import type { SharedRedis } from '../budget/shared-redis.ts';
import type { GamePlatformConfig } from '../config.ts';
import { PlatformHost, type PlatformOptions } from '../http/host.ts';
import { gamePace } from './pace.ts';
import { Restrictions } from './restrictions.ts';

/** Open Cloud's limits of user restrictions, in calls per second for each universe, for all keys together. */
const CALLS_PER_SECOND = { 'restriction-read': 50, 'restriction-write': 10 };

export interface RestrictionHostOptions extends PlatformOptions {
  config: Pick<GamePlatformConfig, 'GAME_APIS_URL' | 'GAME_API_KEY'>;
  /** Shares the call budgets among all processes. */
  shared: SharedRedis;
}

/** Returns a client for user restrictions; undefined without a key, because the platform needs one for them. */
export function openRestrictions({ config, shared, ...options }: RestrictionHostOptions): Restrictions | undefined {
  const { GAME_API_KEY: key, GAME_APIS_URL: url } = config;
  if (key === undefined) return undefined;
  const budgets = new Map(
    Object.entries(CALLS_PER_SECOND).map(([name, slots]) => [name, budgetOf(name, slots, options, shared)]),
  );
  const limits = new PlatformLimits({ shared, platform: 'game platform', credential: `game apis ${url} ${key}` });
  const pace = gamePace(limits, (limit) => {
    // The rate limits are named as in `restriction-read 30001`.
    const [name = '', universeId = ''] = limit.split(' ');
    const budget = budgets.get(name);
    if (!budget) throw new Error(`there is no rate limit ${limit}`);
    return budget.ofPart(universeId);
  });
  const host = new PlatformHost({ ...options, name: 'game-apis', platform: 'game platform', url, pace });
  return new Restrictions(host, key);
}

/** The budget is that of a universe and not of a key, because the platform counts the calls of all keys together. */
function budgetOf(name: string, slots: number, { metrics }: PlatformOptions, shared: SharedRedis): CallBudget {
  const allowance = { slots, windowMs: 1_000 };
  return new CallBudget({ shared, platform: 'game', credential: `game ${name}`, allowance, metrics });
}

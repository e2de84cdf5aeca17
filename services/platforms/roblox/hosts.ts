import type { SharedRedis } from '../budget/shared-redis.ts';
import type { Allowance } from '../budget/slots.ts';
import type { GamePlatformConfig, OpenCloudConfig } from '../config.ts';
import { type Pace, PlatformHost, type PlatformOptions } from '../http/host.ts';
import { cloudPace, gamePaces } from './pace.ts';

/**
 * The hosts of Roblox that the services call. Each has its own circuit breaker, so that a failing host does not affect
 * the others.
 */
export type RobloxHosts = ReturnType<typeof robloxHosts>;

export function robloxHosts(
  config: GamePlatformConfig,
  { shared, ...options }: PlatformOptions & { shared: SharedRedis },
) {
  const paceOf = gamePaces({ config, shared, metrics: options.metrics });
  const host = (name: string, url: string) => robloxHost(name, url, { ...options, pace: paceOf(name, url) });
  return {
    users: host('users', config.GAME_USERS_URL),
    groups: host('groups', config.GAME_GROUPS_URL),
    inventory: host('inventory', config.GAME_INVENTORY_URL),
    badges: host('badges', config.GAME_BADGES_URL),
    economy: host('economy', config.GAME_ECONOMY_URL),
    apis: host('apis', config.GAME_APIS_URL),
  };
}

export interface CloudHostOptions extends PlatformOptions {
  shared: SharedRedis;
  /** The rate limits of Open Cloud per key owner, by the name with which calls choose their limit. */
  allowances: Readonly<Record<string, Allowance>>;
}

/** Creates the client of Open Cloud for a process that calls no other host of the game platform. */
export function robloxCloudHost(
  config: OpenCloudConfig,
  { shared, allowances, ...options }: CloudHostOptions,
): PlatformHost {
  const pace = cloudPace({ config, shared, metrics: options.metrics, allowances });
  return robloxHost('apis', config.GAME_APIS_URL, { ...options, pace });
}

function robloxHost(name: string, url: string, options: PlatformOptions & { pace: Pace }): PlatformHost {
  return new PlatformHost({ ...options, name: `game-${name}`, platform: 'game platform', url });
}

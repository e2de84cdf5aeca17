import type { SharedRedis } from '../budget/shared-redis.ts';
import type { GamePlatformConfig } from '../config.ts';
import { PlatformHost, type PlatformOptions } from '../http/host.ts';
import { gamePaces } from './pace.ts';

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
  const host = (name: string, url: string) =>
    new PlatformHost({ ...options, name: `game-${name}`, platform: 'game platform', url, pace: paceOf(name, url) });
  return {
    users: host('users', config.GAME_USERS_URL),
    groups: host('groups', config.GAME_GROUPS_URL),
    inventory: host('inventory', config.GAME_INVENTORY_URL),
    badges: host('badges', config.GAME_BADGES_URL),
    economy: host('economy', config.GAME_ECONOMY_URL),
    apis: host('apis', config.GAME_APIS_URL),
  };
}

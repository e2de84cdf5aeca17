import { cloudRoutes } from './game/cloud.ts';
import { gameError, isCloud, refuse, refuseCloud } from './game/errors.ts';
import { groupRoutes } from './game/groups.ts';
import { itemRoutes } from './game/items.ts';
import { userRoutes } from './game/users.ts';
import type { Limit } from './limits.ts';
import { adjustLimits, Windows } from './limits.ts';
import type { Call, Route } from './routes.ts';
import type { Platform, PlatformOptions } from './server.ts';
import type { World } from './world.ts';

/** Open Cloud's own limits for each owner of an API key. The older hosts publish none. */
const gameLimits = {
  'cloud-user': { count: 1000, seconds: 60 },
  'cloud-group': { count: 150, seconds: 60 },
  'cloud-roles': { count: 300, seconds: 60 },
  'cloud-memberships': { count: 300, seconds: 60 },
  'cloud-inventory': { count: 100, seconds: 60 },
} satisfies Record<string, Limit>;

export type GameLimit = keyof typeof gameLimits;
export type GameRoute = Route<GameLimit>;

/**
 * The game platform: Roblox's older hosts (groups, users, inventory, badges, economy, game passes) and Open Cloud, all
 * on one port, since no two of their paths are alike.
 */
export function createGame(world: World, { clock, limits, limitScale }: PlatformOptions): Platform {
  const adjusted = adjustLimits(gameLimits, limits, limitScale);
  const windows = new Windows(clock);
  const routes: GameRoute[] = [
    ...groupRoutes(world),
    ...userRoutes(world),
    ...itemRoutes(world),
    ...cloudRoutes(world),
  ];
  const admit = (call: Call, route: Route): Record<string, string> => {
    if (!isCloud(call.path)) return {};
    const key = call.headers['x-api-key'];
    if (typeof key !== 'string' || key === '') refuse(401, 0, 'Invalid API Key');
    const { count, seconds } = adjusted[route.limit as GameLimit];
    const standing = windows.take(`${key} ${route.limit}`, { count, seconds });
    const headers = {
      'x-ratelimit-limit': `${count}, ${count};w=${seconds}`,
      'x-ratelimit-remaining': String(standing.remaining),
      // Seconds left, not a time of day. A refusal has no Retry-After: the platform does not promise one.
      'x-ratelimit-reset': String(Math.ceil(standing.resetMs / 1000)),
    };
    if (!standing.allowed) refuseCloud(429, 'Too many requests for this API key.', headers);
    return headers;
  };
  return { routes, controls: [], admit, error: gameError };
}

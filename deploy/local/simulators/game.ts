import { cloudRoutes } from './game/cloud.ts';
import { gameError, isCloud, refuse, refuseCloud } from './game/errors.ts';
import { groupRoutes } from './game/groups.ts';
import { itemRoutes } from './game/items.ts';
import { type GameLimit, type GameRoute, gameLimits } from './game/limits.ts';
import { secretRoutes } from './game/secrets.ts';
import { userRoutes } from './game/users.ts';
import { adjustLimits, Windows } from './limits.ts';
import type { Call, Route } from './routes.ts';
import type { Platform, PlatformOptions } from './server.ts';
import type { World } from './world.ts';

/**
 * The game platform: Roblox's older hosts (groups, users, inventory, badges, economy, game passes) and Open Cloud, all
 * on one port, because their paths do not overlap.
 */
export function createGame(world: World, { clock, limits, limitScale }: PlatformOptions): Platform {
  const adjusted = adjustLimits(gameLimits, limits, limitScale);
  const windows = new Windows(clock);
  const routes: GameRoute[] = [
    ...groupRoutes(world),
    ...userRoutes(world),
    ...itemRoutes(world),
    ...cloudRoutes(world),
    ...secretRoutes(world.secrets, clock),
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
      // Remaining seconds, not a time of day. A 429 has no Retry-After, because the platform does not guarantee one.
      'x-ratelimit-reset': String(Math.ceil(standing.resetMs / 1000)),
    };
    if (!standing.allowed) refuseCloud(429, 'Too many requests for this API key.', headers);
    return headers;
  };
  return { routes, controls: [], admit, error: gameError };
}

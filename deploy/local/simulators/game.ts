import { cloudRoutes } from './game/cloud.ts';
import { gameError, isCloud, refuseCloud } from './game/errors.ts';
import { groupControls } from './game/group-controls.ts';
import { groupRoutes } from './game/groups.ts';
import { itemRoutes } from './game/items.ts';
import { GameKeys, keyRoutes } from './game/keys.ts';
import { type GameLimit, type GameRoute, gameLimits } from './game/limits.ts';
import { type MessageBus, messageControls, messageRoutes } from './game/messages.ts';
import { restrictionControls } from './game/restrictions/controls.ts';
import { restrictionRoutes } from './game/restrictions/routes.ts';
import { Restrictions } from './game/restrictions/store.ts';
import { secretRoutes } from './game/secrets.ts';
import { userRoutes } from './game/users.ts';
import { adjustLimits, Windows } from './limits.ts';
import type { Call, Route } from './routes.ts';
import type { Platform, PlatformOptions } from './server.ts';
import type { World } from './world.ts';

/** Limits that all keys of a universe share. */
const perUniverse = new Set<string | undefined>(['restriction-read', 'restriction-write'] satisfies GameLimit[]);

/**
 * The game platform: Roblox's older hosts (groups, users, inventory, badges, economy, game passes) and Open Cloud, all
 * on one port, because their paths do not overlap.
 */
export function createGame(world: World, bus: MessageBus, options: PlatformOptions): Platform {
  const { clock, limits, limitScale } = options;
  const adjusted = adjustLimits(gameLimits, limits, limitScale);
  const windows = new Windows(clock);
  const keys = new GameKeys(world, clock);
  const restrictions = new Restrictions(clock);
  const userLimit = adjusted['restriction-user'];
  const routes: GameRoute[] = [
    ...groupRoutes(world),
    ...userRoutes(world),
    ...itemRoutes(world),
    ...cloudRoutes(world),
    ...secretRoutes(world.secrets, clock),
    ...keyRoutes(keys),
    ...messageRoutes(bus),
    ...restrictionRoutes({ world, restrictions, windows, userLimit, clock, ownerOf: (call) => keys.ownerOf(call) }),
  ];
  const admit = (call: Call, route: Route): Record<string, string> => {
    if (!isCloud(call.path)) return {};
    const limit = route.limit as GameLimit;
    const key = keys.admit(call, limit);
    const { count, seconds } = adjusted[limit];
    const subject = perUniverse.has(route.limit) ? call.params['universe'] : key;
    const standing = windows.take(`${subject} ${route.limit}`, { count, seconds });
    const headers = {
      'x-ratelimit-limit': `${count}, ${count};w=${seconds}`,
      'x-ratelimit-remaining': String(standing.remaining),
      // Remaining seconds, not a time of day. A 429 has no Retry-After, because the platform does not guarantee one.
      'x-ratelimit-reset': String(Math.ceil(standing.resetMs / 1000)),
    };
    if (!standing.allowed) refuseCloud(429, 'Too many requests for this API key.', headers);
    return headers;
  };
  const controls = [...groupControls(world), ...restrictionControls(world, restrictions), ...messageControls(bus)];
  return { routes, controls, admit, error: gameError };
}

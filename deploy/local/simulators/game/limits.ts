import type { Limit } from '../limits.ts';
import type { Route } from '../routes.ts';

/** Open Cloud's limits per owner of an API key. The older hosts publish none. */
export const gameLimits = {
  'cloud-user': { count: 1000, seconds: 60 },
  'cloud-group': { count: 150, seconds: 60 },
  'cloud-roles': { count: 300, seconds: 60 },
  'cloud-memberships': { count: 300, seconds: 60 },
  'cloud-inventory': { count: 100, seconds: 60 },
  'cloud-secrets': { count: 120, seconds: 60 },
} satisfies Record<string, Limit>;

export type GameLimit = keyof typeof gameLimits;
export type GameRoute = Route<GameLimit>;

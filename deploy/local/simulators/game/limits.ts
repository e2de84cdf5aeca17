import type { Limit } from '../limits.ts';
import type { Route } from '../routes.ts';

/**
 * Open Cloud's limits per owner of an API key; those of restrictions are per universe instead, and the last is per universe
 * and user. The older hosts publish none.
 */
export const gameLimits = {
  'cloud-user': { count: 1000, seconds: 60 },
  'cloud-group': { count: 150, seconds: 60 },
  'cloud-roles': { count: 300, seconds: 60 },
  'cloud-memberships': { count: 300, seconds: 60 },
  'cloud-inventory': { count: 100, seconds: 60 },
  'cloud-secrets': { count: 120, seconds: 60 },
  'cloud-messages': { count: 5000, seconds: 60 },
  'restriction-read': { count: 50, seconds: 1 },
  'restriction-write': { count: 10, seconds: 1 },
  'restriction-user': { count: 2, seconds: 60 },
} satisfies Record<string, Limit>;

export type GameLimit = keyof typeof gameLimits;
export type GameRoute = Route<GameLimit>;

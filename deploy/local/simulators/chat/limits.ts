import type { Limit } from '../limits.ts';
import type { Route } from '../routes.ts';

/**
 * The global limit is the platform's. It publishes no limits per bucket and expects clients to read them from the headers, so
 * these values are our choice: generous, with lower limits for writes than for reads.
 */
export const chatLimits = {
  global: { count: 50, seconds: 1 },
  'guild-read': { count: 50, seconds: 1 },
  'member-read': { count: 50, seconds: 1 },
  'member-list': { count: 10, seconds: 1 },
  'member-search': { count: 10, seconds: 1 },
  'member-edit': { count: 20, seconds: 1 },
  'member-role': { count: 20, seconds: 1 },
  'member-add': { count: 20, seconds: 1 },
  'invite-create': { count: 10, seconds: 1 },
  oauth: { count: 50, seconds: 1 },
  commands: { count: 20, seconds: 10 },
  // Counted for each token; edits of responses do not count for the global limit of the bot.
  webhook: { count: 5, seconds: 2 },
  gateway: { count: 10, seconds: 10 },
  // The platform's: `identify` is the number of clients that may start at the same time.
  identify: { count: 1, seconds: 5 },
  'identify-daily': { count: 1000, seconds: 86_400 },
  'gateway-send': { count: 120, seconds: 60 },
  'own-guilds': { count: 5, seconds: 1 },
} satisfies Record<string, Limit>;

export type ChatLimit = keyof typeof chatLimits;
export type ChatRoute = Route<ChatLimit>;

import { z } from 'zod';
import { reasonText, shieldEntry } from './moderation/schemas.ts';
import { defineRoutes, route } from './route.ts';
import { gameId, gameIdOut, guildId, nextCursor, optional, page, text, timestamp } from './schemas.ts';

/** The latest time at which an entry may expire: the end of the year 9999. A greater number is probably milliseconds. */
const MAX_TIMESTAMP = 253_402_300_799;
const WRONG_TIME = 'must be Unix seconds in the future';

const expiresAt = z
  .int({ error: WRONG_TIME })
  .min(0, { error: WRONG_TIME })
  .max(MAX_TIMESTAMP, { error: WRONG_TIME })
  .meta({ description: 'Unix seconds; without it the player stays flagged until the flag is removed' });

const write = {
  path: '/guilds/:guildId/shield/:gameId',
  scope: 'moderation:write',
  category: 'moderation_write',
  guild: 'path',
  params: z.object({ guildId, gameId }),
  status: 200,
  writes: true,
} as const;

const ownEntry = z
  .object({
    ...shieldEntry.shape,
    source: shieldEntry.shape.source.meta({ description: 'Origin of the entry', example: 'api' }),
    expires_at: timestamp.nullable().meta({ description: 'Unix seconds; null if it does not expire', example: null }),
  })
  .meta({ id: 'OwnShieldEntry', description: "An entry of the guild's own flagged list" });

/** Routes with which a guild reads and changes its own flagged list. */
export const shieldRoutes = defineRoutes('moderation', {
  flagPlayer: route({
    ...write,
    method: 'PUT',
    body: z.object({
      reason: reasonText.meta({ description: 'Reason', example: 'Sells stolen items' }),
      category: text(1, 50).meta({ description: 'Category of the entry', example: 'scammer' }),
      game_username: optional(text(1, 50)).meta({ description: 'Username in the game', example: 'AdaBuilds' }),
      expires_at: optional(expiresAt),
    }),
    data: ownEntry,
    message: 'Player flagged',
    summary: "Put a player on the guild's flagged list",
    description:
      'Replaces an entry of the guild. It takes precedence over one that operators have made for all guilds.',
    errors: { QUOTA_EXCEEDED: 'The flagged list of the guild is full (100,000 entries by default)' },
    quota: { quota: 'shield_entries', limit: 100_000 },
  }),
  unflagPlayer: route({
    ...write,
    method: 'DELETE',
    data: z.object({ removed: z.literal(true), game_id: gameIdOut }),
    message: 'Flag removed',
    summary: "Take a player off the guild's flagged list",
    description: 'A player whom operators have flagged for all guilds stays flagged.',
    errors: { NOT_FOUND: "The player is not on the guild's own list" },
  }),
  listFlags: route({
    method: 'GET',
    path: '/guilds/:guildId/shield',
    scope: 'moderation:read',
    category: 'moderation_read',
    guild: 'path',
    params: z.object({ guildId }),
    query: z.object(page),
    data: z.object({ flags: z.array(ownEntry), next_cursor: nextCursor }),
    status: 200,
    writes: false,
    message: 'Flags listed',
    summary: "List the guild's flagged players",
    description: 'Ordered by game ID, without expired entries and those for all guilds.',
  }),
});

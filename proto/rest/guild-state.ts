import { z } from 'zod';
import { defineRoutes, route } from './route.ts';
import { guildId } from './schemas.ts';

/** The counts of `GET /guilds/:guildId/overview`, each with what is counted. */
export const GUILD_COUNTS = {
  links: 'Links of chat accounts with game accounts',
  bindings: 'Role bindings',
  active_bans: 'Active bans',
  active_mutes: 'Active mutes',
  flagged_players: "Entries of the guild's own flagged list",
  live_servers: 'Live game servers',
  players: 'Players on live game servers',
  open_staff_sessions: 'Staff sessions that have not ended',
  webhooks: 'Webhooks',
  failing_webhooks: 'Webhooks that fail or are disabled',
} as const satisfies Record<string, string>;

export type GuildCountName = keyof typeof GUILD_COUNTS;

/** The services that have counts, which `omitted` names. */
export const COUNTING_SERVICES = ['lookup', 'bindings', 'activity', 'moderation', 'events'] as const;

const counts = Object.fromEntries(
  Object.keys(GUILD_COUNTS).map((name) => [name, z.int().min(0).nullable().meta({ example: 4 })]),
) as Record<GuildCountName, z.ZodNullable<z.ZodInt>>;

const check = z
  .object({
    name: z.string().meta({ description: 'Name of the check', example: 'bot_role_order' }),
    ok: z.boolean().meta({ description: 'False if something must be done', example: false }),
    message: z.string().meta({
      description: 'What was found',
      example: "1 role of a binding is not below the bot's highest role: Officer.",
    }),
    fix: z.string().nullable().meta({
      description: 'What to do; advice if the check is ok; null if there is nothing to do',
      example: 'In the settings of the guild, under Roles, drag the role Guild Data above the role Officer.',
    }),
  })
  .meta({ id: 'GuildCheck', description: 'A check of the set-up of a guild' });

/** The routes that describe the present state of a guild. */
export const guildStateRoutes = defineRoutes('auth', {
  getDoctor: route({
    method: 'GET',
    path: '/guilds/:guildId/doctor',
    scope: 'sync:read',
    category: 'config_read',
    guild: 'path',
    params: z.object({ guildId }),
    data: z.object({ checks: z.array(check).meta({ description: 'Checks, always in the same order' }) }),
    status: 200,
    message: 'Set-up checked',
    summary: 'Check the set-up of the guild',
    description: 'A platform or service that does not respond is a failed check. Results may be 30 s old.',
    writes: false,
  }),
  getOverview: route({
    method: 'GET',
    path: '/guilds/:guildId/overview',
    scope: null,
    category: 'config_read',
    guild: 'path',
    params: z.object({ guildId }),
    data: z.object({
      counts: z.object(counts).meta({
        description: 'Counts; null if the service that counts did not respond',
      }),
      minimums: z.array(z.string()).meta({
        description: 'Names of counts that are larger than returned, because counting stops at a limit',
        example: [],
      }),
      omitted: z.array(z.string()).meta({ description: 'Services that did not respond', example: [] }),
    }),
    status: 200,
    message: 'Overview read',
    summary: 'Count what the guild has',
    description: 'Counts for the first page of a dashboard.',
    writes: false,
  }),
});

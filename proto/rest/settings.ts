import { z } from 'zod';
import { nicknameTemplate } from './nickname-template.ts';
import { defineRoutes, route } from './route.ts';
import { channelId, guildId, listOf, numberId, optional } from './schemas.ts';

/** The maximum number of universes to which the bans of a guild are mirrored. */
export const MAX_UNIVERSES = 10;

const flag = z.boolean({ error: 'must be true or false' });
const flagOut = (description: string) => z.boolean().meta({ description });
const change = optional(flag);

/** The settings of a guild as responses return them. */
export const guildSettings = z
  .object({
    sync_on_link: flagOut('Sync a member whose link changes'),
    sync_on_join: flagOut('Sync a linked user who joins'),
    sync_on_rank_change: flagOut('Sync a member whose rank in a group of a binding changes'),
    nickname_template: z
      .string()
      .nullable()
      .meta({ description: 'Nickname of synced members, as in `POST /sync/nickname`; null for none', example: null }),
    mirror_bans: z
      .object({
        universe_ids: z
          .array(z.int().min(1))
          .meta({ description: 'Universes to which bans are mirrored; empty for none', example: [] }),
        exclude_alts: flagOut("Leave out the player's other accounts"),
      })
      .meta({ description: 'Mirrors bans to the game platform' }),
    mirror_timeouts: flagOut('Mirror mutes to chat timeouts, and back'),
    push_commands: flagOut('Wake game servers for new commands'),
    invite_channel_id: z
      .string()
      .nullable()
      .meta({ description: 'Channel of `POST /verification/invite`; null for none' }),
    oauth_join: flagOut('Linked users can join at `/join/{guildId}` of the console'),
  })
  .meta({ id: 'GuildSettings', description: 'What the service does by itself in a guild' });

/** Settings that null removes. In other fields null counts as absent. */
const NULLABLE: ReadonlySet<string> = new Set(['nickname_template', 'invite_channel_id']);

const changesSomething = [
  (fields: object) => Object.entries(fields).some(([name, value]) => value != null || NULLABLE.has(name)),
  { error: 'must hold at least one setting', when: () => true },
] as const;

const changes = z
  .object({
    sync_on_link: change,
    sync_on_join: change,
    sync_on_rank_change: change,
    nickname_template: nicknameTemplate.nullish(),
    mirror_bans: optional(
      z.object({
        universe_ids: optional(listOf(numberId('a universe ID'), MAX_UNIVERSES, 'universe IDs')),
        exclude_alts: change,
      }),
    ),
    mirror_timeouts: change,
    push_commands: change,
    invite_channel_id: channelId.nullish(),
    oauth_join: change,
  })
  .refine(...changesSomething)
  .meta({ example: { sync_on_join: true, invite_channel_id: '900000000000000001' } });

/** The fields of a change of settings; undefined fields keep their values. */
export type SettingsChange = z.output<typeof changes>;

/** The settings of a guild. */
export const settingsRoutes = defineRoutes('members', {
  getSettings: route({
    method: 'GET',
    path: '/guilds/:guildId/settings',
    scope: 'sync:read',
    category: 'config_read',
    guild: 'path',
    params: z.object({ guildId }),
    data: guildSettings,
    status: 200,
    message: 'Settings found',
    summary: 'Get the settings of the guild',
    description: 'All are off, except `sync_on_link`, until they are changed.',
    writes: false,
  }),
  updateSettings: route({
    method: 'PATCH',
    path: '/guilds/:guildId/settings',
    scope: 'sync:write',
    category: 'sync_write',
    guild: 'path',
    params: z.object({ guildId }),
    body: changes,
    data: guildSettings,
    status: 200,
    message: 'Settings updated',
    summary: 'Change settings of the guild',
    description: 'Omitted fields stay unchanged. Takes effect within 10 s. Changes no member: use `POST /sync/group`.',
    writes: true,
  }),
});

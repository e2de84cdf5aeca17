import { z } from 'zod';
import { nicknameTemplate } from './nickname-template.ts';
import { defineRoutes, route } from './route.ts';
import { guildId, listOf, numberId, optional } from './schemas.ts';

/** The maximum number of universes to which the bans of a guild are mirrored. */
export const MAX_UNIVERSES = 10;

const DESCRIPTIONS = {
  sync_on_link: 'Sync the roles of a member whose link changes',
  sync_on_join: 'Sync the roles of a linked user who joins the guild',
  sync_on_rank_change: 'Sync the roles of a member whose rank changes in a group of a binding',
  nickname_template: 'Nickname of synced members, a template as in `POST /sync/nickname`; null for none',
  mirror_bans: 'Mirrors bans to the game platform',
  universe_ids: 'Universes to which bans are mirrored; empty for none',
  exclude_alts: "Leave out the player's alternative accounts",
  mirror_timeouts: 'Mirror mutes to timeouts on the chat platform, and back',
  push_commands: 'Wake game servers for new commands',
};

const flag = z.boolean({ error: 'must be true or false' });
const flagOut = (name: keyof typeof DESCRIPTIONS) => z.boolean().meta({ description: DESCRIPTIONS[name] });
const change = (name: keyof typeof DESCRIPTIONS) => optional(flag).meta({ description: DESCRIPTIONS[name] });

/** The settings of a guild as responses return them. */
export const guildSettings = z
  .object({
    sync_on_link: flagOut('sync_on_link'),
    sync_on_join: flagOut('sync_on_join'),
    sync_on_rank_change: flagOut('sync_on_rank_change'),
    nickname_template: z.string().nullable().meta({ description: DESCRIPTIONS.nickname_template, example: null }),
    mirror_bans: z
      .object({
        universe_ids: z.array(z.int().min(1)).meta({ description: DESCRIPTIONS.universe_ids, example: [] }),
        exclude_alts: flagOut('exclude_alts'),
      })
      .meta({ description: DESCRIPTIONS.mirror_bans }),
    mirror_timeouts: flagOut('mirror_timeouts'),
    push_commands: flagOut('push_commands'),
  })
  .meta({ id: 'GuildSettings', description: 'What the service does by itself in a guild' });

const changesSomething = [
  (fields: object) => Object.entries(fields).some(([name, value]) => value != null || name === 'nickname_template'),
  { error: 'must hold at least one setting', when: () => true },
] as const;

const changes = z
  .object({
    sync_on_link: change('sync_on_link'),
    sync_on_join: change('sync_on_join'),
    sync_on_rank_change: change('sync_on_rank_change'),
    nickname_template: nicknameTemplate.nullish().meta({ description: DESCRIPTIONS.nickname_template }),
    mirror_bans: optional(
      z.object({
        universe_ids: optional(listOf(numberId('a universe ID'), MAX_UNIVERSES, 'universe IDs')).meta({
          description: DESCRIPTIONS.universe_ids,
          example: [30001],
        }),
        exclude_alts: change('exclude_alts'),
      }),
    ).meta({ description: DESCRIPTIONS.mirror_bans }),
    mirror_timeouts: change('mirror_timeouts'),
    push_commands: change('push_commands'),
  })
  .refine(...changesSomething)
  .meta({ example: { sync_on_join: true } });

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
    description:
      'Omitted fields stay unchanged. A change takes effect within 10 s. No member is changed by it: use `POST /sync/group`.',
    writes: true,
  }),
});

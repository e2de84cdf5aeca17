import type { Queryable } from '#kit/postgres/pool.ts';
import type { GuildSettings, MirroringGuild } from '#proto/gen/guild/members/v1/settings.ts';

/** The settings of a guild that has changed none. */
export const DEFAULT_SETTINGS: GuildSettings = {
  syncOnLink: true,
  syncOnJoin: false,
  syncOnRankChange: false,
  nicknameTemplate: undefined,
  mirrorBansUniverseIds: [],
  mirrorBansExcludeAlts: false,
  mirrorTimeouts: false,
  pushCommands: false,
  inviteChannelId: undefined,
  oauthJoin: false,
  version: 0,
};

type SettingsRow = Omit<GuildSettings, 'nicknameTemplate' | 'inviteChannelId'> & {
  nicknameTemplate: string | null;
  inviteChannelId: string | null;
};

const COLUMNS = `sync_on_link AS "syncOnLink", sync_on_join AS "syncOnJoin",
  sync_on_rank_change AS "syncOnRankChange", member_template AS "nicknameTemplate",
  mirror_bans_universe_ids AS "mirrorBansUniverseIds", mirror_bans_exclude_alts AS "mirrorBansExcludeAlts",
  mirror_timeouts AS "mirrorTimeouts", push_commands AS "pushCommands",
  invite_channel_id AS "inviteChannelId", oauth_join AS "oauthJoin", version`;

/** Returns the settings of a guild. */
export async function findSettings(on: Queryable, guildId: string): Promise<GuildSettings> {
  const [row] = await on.query<SettingsRow>(`SELECT ${COLUMNS} FROM members.guild_settings WHERE guild_id = $1`, [
    guildId,
  ]);
  return row ? settingsOf(row) : DEFAULT_SETTINGS;
}

/** Returns the settings of a guild to change them, and locks them until the end of the transaction. */
export async function lockSettings(transaction: Queryable, guildId: string): Promise<GuildSettings> {
  // The row is created first, so that concurrent first changes wait for each other.
  await transaction.query(
    'INSERT INTO members.guild_settings (guild_id, version) VALUES ($1, 0) ON CONFLICT (guild_id) DO NOTHING',
    [guildId],
  );
  const [row] = await transaction.query<SettingsRow>(
    `SELECT ${COLUMNS} FROM members.guild_settings WHERE guild_id = $1 FOR UPDATE`,
    [guildId],
  );
  return row ? settingsOf(row) : DEFAULT_SETTINGS;
}

/** Returns up to `limit` guilds, after a guild, whose settings name universes to which bans are mirrored. */
export function listMirroringGuilds(on: Queryable, after: string, limit: number): Promise<MirroringGuild[]> {
  return on.query(
    `SELECT guild_id AS "guildId", mirror_bans_universe_ids AS "universeIds", mirror_bans_exclude_alts AS "excludeAlts"
     FROM members.guild_settings
     WHERE guild_id > $1 AND mirror_bans_universe_ids <> '{}' ORDER BY guild_id LIMIT $2`,
    [after, limit],
  );
}

/** Returns up to `limit` guilds, after a guild, whose mutes are mirrored to timeouts. */
export async function listTimeoutGuilds(on: Queryable, after: string, limit: number): Promise<string[]> {
  const rows = await on.query<{ guildId: string }>(
    `SELECT guild_id AS "guildId" FROM members.guild_settings
     WHERE guild_id > $1 AND mirror_timeouts ORDER BY guild_id LIMIT $2`,
    [after, limit],
  );
  return rows.map(({ guildId }) => guildId);
}

/** Stores the changed settings of a guild, whose row the transaction has locked. */
export async function updateSettings(transaction: Queryable, guildId: string, settings: GuildSettings): Promise<void> {
  await transaction.query(
    `UPDATE members.guild_settings SET sync_on_link = $2, sync_on_join = $3, sync_on_rank_change = $4,
       member_template = $5, mirror_bans_universe_ids = $6, mirror_bans_exclude_alts = $7, mirror_timeouts = $8,
       push_commands = $9, invite_channel_id = $10, oauth_join = $11, version = $12, updated_at = clock_timestamp()
     WHERE guild_id = $1`,
    [
      guildId,
      settings.syncOnLink,
      settings.syncOnJoin,
      settings.syncOnRankChange,
      settings.nicknameTemplate ?? null,
      settings.mirrorBansUniverseIds,
      settings.mirrorBansExcludeAlts,
      settings.mirrorTimeouts,
      settings.pushCommands,
      settings.inviteChannelId ?? null,
      settings.oauthJoin,
      settings.version,
    ],
  );
}

const settingsOf = ({ nicknameTemplate, inviteChannelId, ...row }: SettingsRow): GuildSettings => ({
  ...row,
  nicknameTemplate: nicknameTemplate ?? undefined,
  inviteChannelId: inviteChannelId ?? undefined,
});

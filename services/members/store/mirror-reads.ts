import { prepared, type Queryable } from '#kit/postgres/pool.ts';
import type { ChatMember } from '#platforms/chat.ts';
import type { MemberName } from './roles.ts';

/** A mirrored guild, and whether it is current. */
export interface MirroredGuild {
  /** True while the websocket keeps the guild and its members current. */
  isLive: boolean;
  epoch: string;
  version: number;
  /** True if a use of the guild was noted within the last day. */
  isUsed: boolean;
  botId: string;
}

/** A mirrored member. */
export interface MirroredMember extends ChatMember {
  /** True if the websocket keeps the row current as long as the guild is live. */
  isOfEpoch: boolean;
  /** True if the row was current, or was read, within `maxAgeSeconds`. */
  isRecent: boolean;
  /** True if the row may be used while the platform cannot be called. */
  isUsable: boolean;
  /** True if a use of the row was noted within the last day. */
  isUsed: boolean;
}

const GUILD_COLUMNS = `g.epoch, g.version, s.bot_id AS "botId",
  coalesce(g.used_at > clock_timestamp() - interval '1 day', false) AS "isUsed",
  coalesce(g.is_available AND s.epoch = g.session_epoch AND s.live_until > clock_timestamp(), false) AS "isLive"`;
const SHARD = `members.chat_shards AS s ON s.shard_count = g.shard_count AND s.shard_id = g.shard_id`;

const FIND_GUILD = prepared(
  `SELECT ${GUILD_COLUMNS}, s.live_until > clock_timestamp() - $2 * interval '1 second' AS "isUsable"
   FROM members.mirror_guilds AS g JOIN ${SHARD} WHERE g.guild_id = $1`,
);

/**
 * Returns a guild of the mirror, which may be used while the platform cannot be called if its shard was live within
 * `usableSeconds`; undefined if the mirror does not have it.
 */
export async function findGuild(
  on: Queryable,
  guildId: string,
  usableSeconds: number,
): Promise<(MirroredGuild & { isUsable: boolean }) | undefined> {
  const [guild] = await on.query<MirroredGuild & { isUsable: boolean }>(FIND_GUILD, [guildId, usableSeconds]);
  return guild;
}

const FIND_GUILD_DATA = prepared(
  `SELECT epoch, version, owner_id AS "ownerId", roles, bot_roles AS "botRoles"
   FROM members.mirror_guilds WHERE guild_id = $1`,
);

/** What the mirror has of a guild. */
export interface GuildData {
  epoch: string;
  version: number;
  ownerId: string | null;
  roles: unknown;
  botRoles: string[];
}

export async function findGuildData(on: Queryable, guildId: string): Promise<GuildData | undefined> {
  const [data] = await on.query<GuildData>(FIND_GUILD_DATA, [guildId]);
  return data;
}

// A row is usable after the websocket was lost, after a gap in it, or after it was read, for as long as $4 says.
const FIND_MEMBER = prepared(
  `SELECT g.guild_id IS NOT NULL AS "hasGuild", m.guild_id IS NOT NULL AND m.left_at IS NULL AS "hasMember", ${GUILD_COLUMNS},
     m.username, m.nickname, m.roles, m.joined_at AS "joinedAt", m.timeout_until AS "timeoutUntil",
     m.version AS "memberVersion", coalesce(m.epoch = g.epoch, false) AS "isOfEpoch",
     m.read_at > clock_timestamp() - $3 * interval '1 second' AS "isRecent",
     m.seen_at > clock_timestamp() - interval '1 day' AS "isMemberUsed",
     coalesce(m.epoch = g.epoch AND s.live_until > clock_timestamp() - $4 * interval '1 second'
       OR m.epoch = g.previous_epoch AND g.gap_at > clock_timestamp() - $4 * interval '1 second'
       OR g.guild_id IS NOT NULL AND m.read_at > clock_timestamp() - $4 * interval '1 second', false) AS "isUsable"
   FROM (SELECT $1::text COLLATE "C" AS guild_id) AS requested
   LEFT JOIN members.mirror_guilds AS g ON g.guild_id = requested.guild_id
   LEFT JOIN ${SHARD}
   LEFT JOIN members.mirror_members AS m ON m.guild_id = requested.guild_id AND m.chat_id = $2`,
);

interface MemberRow extends MirroredGuild, ChatMember {
  hasGuild: boolean;
  hasMember: boolean;
  memberVersion: number | null;
  isOfEpoch: boolean;
  isRecent: boolean;
  isUsable: boolean;
  isMemberUsed: boolean;
}

/** What the mirror has of a member and of the guild; each undefined if the mirror does not have it. */
export interface FoundMember {
  guild: MirroredGuild | undefined;
  member: MirroredMember | undefined;
  /** The version of the member's row, which is also there for some minutes after the member left; null without a row. */
  version: number | null;
}

export async function findMember(
  on: Queryable,
  { guildId, chatId }: MemberName,
  { maxAgeSeconds, usableSeconds }: { maxAgeSeconds: number; usableSeconds: number },
): Promise<FoundMember> {
  const [row] = await on.query<MemberRow>(FIND_MEMBER, [guildId, chatId, maxAgeSeconds, usableSeconds]);
  if (!row) return { guild: undefined, member: undefined, version: null };
  const { isLive, epoch, version, isUsed, botId } = row;
  const { username, nickname, roles, joinedAt, timeoutUntil, isOfEpoch, isRecent, isUsable } = row;
  return {
    guild: row.hasGuild ? { isLive, epoch, version, isUsed, botId } : undefined,
    member: row.hasMember
      ? {
          chatId,
          username,
          nickname,
          roles,
          joinedAt,
          timeoutUntil,
          isOfEpoch,
          isRecent,
          isUsable,
          isUsed: row.isMemberUsed,
        }
      : undefined,
    version: row.memberVersion,
  };
}

/** Notes that the guild uses this service: from now on its members are mirrored. */
export async function markGuildUsed(on: Queryable, guildId: string): Promise<void> {
  await on.query(
    `UPDATE members.mirror_guilds SET used_at = clock_timestamp(), seen_at = clock_timestamp() WHERE guild_id = $1`,
    [guildId],
  );
}

/** Notes that the row is used, so that it is not deleted for its age. */
export async function markMemberUsed(on: Queryable, { guildId, chatId }: MemberName): Promise<void> {
  await on.query('UPDATE members.mirror_members SET seen_at = clock_timestamp() WHERE guild_id = $1 AND chat_id = $2', [
    guildId,
    chatId,
  ]);
}

/**
 * Stores a member that was read from the platform, unless the row has changed since `version` was read (null for no
 * row): the response may be older than that change. `epoch` is that of the guild before the read, if it was live. The
 * read began `ageMs` ago.
 */
export async function storeRead(
  on: Queryable,
  guildId: string,
  { chatId, username, nickname, roles, joinedAt, timeoutUntil }: ChatMember,
  { epoch, version, ageMs }: { epoch: string | null; version: number | null; ageMs: number },
): Promise<void> {
  // A row that was not there when the read began, and is now, comes from an event or from another read: no row has the
  // version NULL.
  await on.query(
    `INSERT INTO members.mirror_members
       (guild_id, chat_id, epoch, username, nickname, roles, joined_at, timeout_until, read_at, seen_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() - $9 * interval '1 ms', clock_timestamp())
     ON CONFLICT (guild_id, chat_id) DO UPDATE
       SET (epoch, username, nickname, roles, joined_at, timeout_until, read_at, seen_at, left_at, version) =
         (excluded.epoch, excluded.username, excluded.nickname, excluded.roles, excluded.joined_at,
          excluded.timeout_until, excluded.read_at, excluded.seen_at, NULL, mirror_members.version + 1)
       WHERE mirror_members.version = $10::bigint`,
    [guildId, chatId, epoch, username, nickname, roles, joinedAt, timeoutUntil, ageMs, version],
  );
}

/** Deletes the row of somebody who is not a member any more, unless it has changed since `version` was read. */
export async function deleteRead(on: Queryable, { guildId, chatId }: MemberName, version: number): Promise<void> {
  await on.query(
    'DELETE FROM members.mirror_members WHERE guild_id = $1 AND chat_id = $2 AND version = $3 AND left_at IS NULL',
    [guildId, chatId, version],
  );
}

/** Returns the version of a member's row; undefined if the mirror does not have the member. */
export async function findVersion(on: Queryable, { guildId, chatId }: MemberName): Promise<number | undefined> {
  const [row] = await on.query<{ version: number }>(
    'SELECT version FROM members.mirror_members WHERE guild_id = $1 AND chat_id = $2 AND left_at IS NULL',
    [guildId, chatId],
  );
  return row?.version;
}

/**
 * Stores a change that this service has just made on the platform, unless the row has changed since `version` was read:
 * then events are arriving, and the one about this change will too.
 */
export async function storeOwnChange(
  on: Queryable,
  { guildId, chatId }: MemberName,
  version: number,
  change: { roleId: string; give: boolean } | { nickname: string | null },
): Promise<void> {
  const [set, value, ...rest] =
    'roleId' in change
      ? [
          `roles = CASE WHEN $5 THEN array_remove(roles, $4) || $4 ELSE array_remove(roles, $4) END`,
          change.roleId,
          change.give,
        ]
      : ['nickname = $4', change.nickname];
  await on.query(
    `UPDATE members.mirror_members SET ${set}, version = version + 1
     WHERE guild_id = $1 AND chat_id = $2 AND version = $3`,
    [guildId, chatId, version, value, ...rest],
  );
}

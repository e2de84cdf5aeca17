import type { Queryable } from '#kit/postgres/pool.ts';
import type { ChatMember } from '#platforms/chat.ts';
import type { ShardName } from './chat-shards.ts';
import type { MemberName } from './roles.ts';

/** A role of a guild as the chat platform sends it. */
export interface RawRole {
  id: string;
}

/** A guild as the chat platform sends it when it becomes available. */
export interface RawGuild {
  guildId: string;
  ownerId: string | null;
  roles: readonly RawRole[];
  botRoles: readonly string[];
}

/**
 * Stores a guild that the platform has sent as a whole. Its members' rows are not current any more, because changes
 * before may have been missed. While the platform cannot be called, rows of the epoch before are still used. After several
 * gaps within five minutes these are the rows from before the first gap, because few were read since.
 */
export async function storeGuild(
  on: Queryable,
  { shardCount, shardId }: ShardName,
  sessionEpoch: string,
  { guildId, ownerId, roles, botRoles }: RawGuild,
): Promise<void> {
  await on.query(
    `INSERT INTO members.mirror_guilds AS guild
       (guild_id, shard_count, shard_id, session_epoch, epoch, owner_id, roles, bot_roles, seen_at)
     VALUES ($1, $2, $3, $4, gen_random_uuid(), $5, $6, $7, clock_timestamp())
     ON CONFLICT (guild_id) DO UPDATE SET (shard_count, shard_id, session_epoch, epoch, previous_epoch, gap_at,
         is_available, owner_id, roles, bot_roles, seen_at, version) =
       (excluded.shard_count, excluded.shard_id, excluded.session_epoch, excluded.epoch,
        CASE WHEN excluded.seen_at - guild.gap_at < interval '5 minutes' THEN guild.previous_epoch ELSE guild.epoch END,
        CASE WHEN excluded.seen_at - guild.gap_at < interval '5 minutes' THEN guild.gap_at ELSE excluded.seen_at END,
        true, excluded.owner_id, excluded.roles, excluded.bot_roles, excluded.seen_at,
        guild.version + 1)`,
    [guildId, shardCount, shardId, sessionEpoch, ownerId, JSON.stringify(roles), botRoles],
  );
}

/** Notes an outage of a guild: until the platform sends the guild again its rows are not current. */
export async function setUnavailable(on: Queryable, guildId: string): Promise<void> {
  await on.query('UPDATE members.mirror_guilds SET is_available = false, version = version + 1 WHERE guild_id = $1', [
    guildId,
  ]);
}

/** Deletes a guild that the bot has left. Rows of its members are not current without it, and are deleted for their age. */
export async function deleteGuild(on: Queryable, guildId: string): Promise<void> {
  await on.query('DELETE FROM members.mirror_guilds WHERE guild_id = $1', [guildId]);
}

/** Stores the owner and all roles of a guild. */
export async function updateGuild(
  on: Queryable,
  { guildId, ownerId, roles }: Omit<RawGuild, 'botRoles'>,
): Promise<void> {
  await on.query(
    `UPDATE members.mirror_guilds SET owner_id = $2, roles = $3, version = version + 1, seen_at = clock_timestamp()
     WHERE guild_id = $1`,
    [guildId, ownerId, JSON.stringify(roles)],
  );
}

/** Stores a new or changed role; with null deletes the role. */
export async function storeRole(on: Queryable, guildId: string, roleId: string, role: RawRole | null): Promise<void> {
  await on.query(
    `UPDATE members.mirror_guilds SET version = version + 1, seen_at = clock_timestamp(),
       roles = (SELECT coalesce(jsonb_agg(role), '[]') FROM jsonb_array_elements(roles) AS role
         WHERE role->>'id' <> $2) || $3::jsonb
     WHERE guild_id = $1`,
    [guildId, roleId, JSON.stringify(role === null ? [] : [role])],
  );
}

/** Stores the bot's own roles. */
export async function storeBotRoles(on: Queryable, guildId: string, roles: readonly string[]): Promise<void> {
  await on.query('UPDATE members.mirror_guilds SET bot_roles = $2, version = version + 1 WHERE guild_id = $1', [
    guildId,
    roles,
  ]);
}

/** What the mirror knew about a member before an event. */
export interface KnownBefore {
  /** The epoch of the guild; undefined if the mirror does not have the guild. */
  epoch: string | undefined;
  /** True if the guild uses this service, so that its members are mirrored. */
  isUsed: boolean;
  /** The member's row; undefined if there was none, or one of a member who left. */
  member: { roles: string[]; timeoutUntil: Date | null; isOfEpoch: boolean } | undefined;
}

export async function findBefore(on: Queryable, { guildId, chatId }: MemberName): Promise<KnownBefore> {
  const [row] = await on.query<{
    epoch: string;
    isUsed: boolean;
    roles: string[] | null;
    timeoutUntil: Date | null;
    isOfEpoch: boolean;
  }>(
    `SELECT g.epoch, g.used_at IS NOT NULL AS "isUsed", m.roles, m.timeout_until AS "timeoutUntil",
       coalesce(m.epoch = g.epoch, false) AS "isOfEpoch"
     FROM members.mirror_guilds AS g
     LEFT JOIN members.mirror_members AS m ON m.guild_id = g.guild_id AND m.chat_id = $2
       AND m.left_at IS NULL
     WHERE g.guild_id = $1`,
    [guildId, chatId],
  );
  if (!row) return { epoch: undefined, isUsed: false, member: undefined };
  const { epoch, isUsed, roles, timeoutUntil, isOfEpoch } = row;
  return { epoch, isUsed, member: roles === null ? undefined : { roles, timeoutUntil, isOfEpoch } };
}

/** Stores a member as an event reports it. Its nickname and times replace those of the row. */
export async function storeMember(
  on: Queryable,
  guildId: string,
  { chatId, username, nickname, roles, joinedAt, timeoutUntil }: ChatMember,
  epoch: string,
): Promise<void> {
  await on.query(
    `INSERT INTO members.mirror_members AS member
       (guild_id, chat_id, epoch, username, nickname, roles, joined_at, timeout_until, read_at, seen_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp(), clock_timestamp())
     ON CONFLICT (guild_id, chat_id) DO UPDATE
       SET (epoch, username, nickname, roles, joined_at, timeout_until, read_at, left_at, version) =
         (excluded.epoch, excluded.username, excluded.nickname, excluded.roles, excluded.joined_at,
          excluded.timeout_until, excluded.read_at, NULL, member.version + 1)`,
    [guildId, chatId, epoch, username, nickname, roles, joinedAt, timeoutUntil],
  );
}

/**
 * Stores that a member left, without anything else about the member. Retention deletes the row some minutes later, when no
 * read of the platform is left that began before.
 */
export async function storeLeft(on: Queryable, { guildId, chatId }: MemberName): Promise<void> {
  await on.query(
    `INSERT INTO members.mirror_members AS member (guild_id, chat_id, username, roles, read_at, seen_at, left_at)
     VALUES ($1, $2, '', '{}', '-infinity', clock_timestamp(), clock_timestamp())
     ON CONFLICT (guild_id, chat_id) DO UPDATE
       SET (epoch, username, nickname, roles, joined_at, timeout_until, read_at, left_at, version) =
         (NULL, '', NULL, '{}', NULL, NULL, excluded.read_at, excluded.left_at, member.version + 1)`,
    [guildId, chatId],
  );
}

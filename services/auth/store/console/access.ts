import type { Queryable } from '#kit/postgres/pool.ts';
import type { GuildRole } from '#proto/console/roles.ts';

/** The role that a chat account was given in a guild. */
export interface AccessRow {
  guildId: string;
  chatId: string;
  role: GuildRole;
  /** The ID of the person who gave it; null after that person was erased. */
  givenBy: string | null;
  givenAt: Date;
}

const ACCESS = `guild_id AS "guildId", chat_id AS "chatId", role, given_by AS "givenBy", given_at AS "givenAt"`;

/** Returns the roles that chat accounts were given in a guild, ordered by chat ID. */
export function selectAccess(database: Queryable, guildId: string, limit: number): Promise<AccessRow[]> {
  return database.query<AccessRow>(
    `SELECT ${ACCESS} FROM auth.guild_access WHERE guild_id = $1 ORDER BY chat_id LIMIT $2`,
    [guildId, limit],
  );
}

/** Returns the role that a chat account was given in a guild; undefined if none. */
export async function selectOneAccess(
  database: Queryable,
  guildId: string,
  chatId: string,
): Promise<AccessRow | undefined> {
  const [found] = await database.query<AccessRow>(
    `SELECT ${ACCESS} FROM auth.guild_access WHERE guild_id = $1 AND chat_id = $2`,
    [guildId, chatId],
  );
  return found;
}

export async function countAccess(database: Queryable, guildId: string): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    'SELECT count(*) AS count FROM auth.guild_access WHERE guild_id = $1',
    [guildId],
  );
  return row?.count ?? 0;
}

export async function upsertAccess(transaction: Queryable, access: AccessRow): Promise<void> {
  const { guildId, chatId, role, givenBy, givenAt } = access;
  await transaction.query(
    `INSERT INTO auth.guild_access (guild_id, chat_id, role, given_by, given_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (guild_id, chat_id) DO UPDATE SET role = $3, given_by = $4, given_at = $5`,
    [guildId, chatId, role, givenBy, givenAt],
  );
}

export async function deleteAccess(transaction: Queryable, guildId: string, chatId: string): Promise<void> {
  await transaction.query('DELETE FROM auth.guild_access WHERE guild_id = $1 AND chat_id = $2', [guildId, chatId]);
}

import type { Queryable } from '#kit/postgres/pool.ts';

/** Identifies a member of a guild. */
export interface MemberName {
  guildId: string;
  chatId: string;
}

/** Acquires a member's lock with a lease by the database's clock. Returns false while another holder has the lock. */
export async function acquireLock(
  on: Queryable,
  { guildId, chatId }: MemberName,
  holder: string,
  leaseMs: number,
): Promise<boolean> {
  const acquired = await on.query(
    `INSERT INTO members.member_locks (guild_id, chat_id, holder, taken_at, held_until)
     VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp() + $4 * interval '1 ms')
     ON CONFLICT (guild_id, chat_id) DO UPDATE
       SET holder = excluded.holder, taken_at = excluded.taken_at, held_until = excluded.held_until
       WHERE member_locks.held_until <= excluded.taken_at
     RETURNING 1`,
    [guildId, chatId, holder, leaseMs],
  );
  return acquired.length > 0;
}

/** Extends the lease of a member's lock to `leaseMs` from now. Returns false if the holder has lost the lock. */
export async function renewLock(
  on: Queryable,
  { guildId, chatId }: MemberName,
  holder: string,
  leaseMs: number,
): Promise<boolean> {
  const renewed = await on.query(
    `UPDATE members.member_locks SET held_until = clock_timestamp() + $4 * interval '1 ms'
     WHERE guild_id = $1 AND chat_id = $2 AND holder = $3 RETURNING 1`,
    [guildId, chatId, holder, leaseMs],
  );
  return renewed.length > 0;
}

export async function releaseLock(on: Queryable, { guildId, chatId }: MemberName, holder: string): Promise<void> {
  await on.query('DELETE FROM members.member_locks WHERE guild_id = $1 AND chat_id = $2 AND holder = $3', [
    guildId,
    chatId,
    holder,
  ]);
}

/**
 * Returns the IDs of the roles that synchronisations have assigned to the member. The number is bounded by the number
 * of roles that role bindings have governed.
 */
export async function listGrants(on: Queryable, { guildId, chatId }: MemberName): Promise<string[]> {
  const grants = await on.query<{ roleId: string }>(
    'SELECT role_id AS "roleId" FROM members.grants WHERE guild_id = $1 AND chat_id = $2 ORDER BY role_id',
    [guildId, chatId],
  );
  return grants.map(({ roleId }) => roleId);
}

/** Returns, by chat ID, which of the roles `roleIds` synchronisations have assigned to the members (at most 100). */
export async function listGrantsOf(
  on: Queryable,
  guildId: string,
  chatIds: readonly string[],
  roleIds: readonly string[],
): Promise<Map<string, string[]>> {
  const grants = await on.query<{ chatId: string; roleIds: string[] }>(
    `SELECT chat_id AS "chatId", array_agg(role_id) AS "roleIds" FROM members.grants
     WHERE guild_id = $1 AND chat_id = ANY($2) AND role_id = ANY($3) GROUP BY chat_id`,
    [guildId, chatIds, roleIds],
  );
  return new Map(grants.map(({ chatId, roleIds }) => [chatId, roleIds]));
}

/** Stores roles as assigned, before an account joins with them. Returns those that were not stored yet. */
export async function insertGrants(
  on: Queryable,
  { guildId, chatId }: MemberName,
  roleIds: readonly string[],
): Promise<string[]> {
  const granted = await on.query<{ roleId: string }>(
    `INSERT INTO members.grants (guild_id, chat_id, role_id, created_at)
     SELECT $1, $2, role_id, clock_timestamp() FROM unnest($3::text[]) role_id ON CONFLICT DO NOTHING
     RETURNING role_id AS "roleId"`,
    [guildId, chatId, roleIds],
  );
  return granted.map(({ roleId }) => roleId);
}

/** Deletes the grants of a member who is not in the guild, unless an invite may still give the roles. */
export async function deleteGrantsOfAbsent(on: Queryable, { guildId, chatId }: MemberName): Promise<void> {
  await on.query(
    `DELETE FROM members.grants WHERE guild_id = $1 AND chat_id = $2 AND NOT EXISTS (
       SELECT 1 FROM members.role_invites WHERE guild_id = $1 AND chat_id = $2 AND kept_until > clock_timestamp())`,
    [guildId, chatId],
  );
}

export async function deleteGrants(
  on: Queryable,
  { guildId, chatId }: MemberName,
  roleIds: readonly string[],
): Promise<void> {
  await on.query('DELETE FROM members.grants WHERE guild_id = $1 AND chat_id = $2 AND role_id = ANY($3)', [
    guildId,
    chatId,
    roleIds,
  ]);
}

import type { Queryable } from '#kit/postgres/pool.ts';

export interface NewStaffRole {
  chatRoleId: string;
  /** The level of the staff role: 0 to 10, of which 10 is the highest. */
  level: number;
  name: string;
  permissions: string[];
}

/** A staff role: a chat role whose members are staff in the game. */
export interface StaffRole extends NewStaffRole {
  updatedAt: Date;
}

const ROLE = `chat_role_id AS "chatRoleId", level, name, permissions, updated_at AS "updatedAt"`;

/** Returns a guild's staff roles, the highest level first; roles of the same level are ordered by chat role ID. */
export function listStaffRoles(on: Queryable, guildId: string): Promise<StaffRole[]> {
  return on.query<StaffRole>(
    `SELECT ${ROLE} FROM activity.staff_roles WHERE guild_id = $1 ORDER BY level DESC, chat_role_id`,
    [guildId],
  );
}

/** Takes the guild's staff role lock, so that only one transaction at a time sets staff roles of the guild. */
export async function lockStaffRoles(transaction: Queryable, guildId: string): Promise<void> {
  const name = `activity.staff_roles\n${guildId}`;
  await transaction.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
}

/** Inserts or replaces the staff role of a chat role. */
export async function saveStaffRole(
  on: Queryable,
  guildId: string,
  { chatRoleId, level, name, permissions }: NewStaffRole,
  now: Date,
): Promise<StaffRole> {
  const [saved] = await on.query<StaffRole>(
    `INSERT INTO activity.staff_roles (guild_id, chat_role_id, level, name, permissions, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (guild_id, chat_role_id) DO UPDATE SET level = excluded.level, name = excluded.name,
       permissions = excluded.permissions, updated_at = excluded.updated_at
     RETURNING ${ROLE}`,
    [guildId, chatRoleId, level, name, permissions, now],
  );
  if (!saved) throw new Error('a staff role was not returned after it was saved');
  return saved;
}

/** Deletes a staff role and returns it; undefined if the chat role had no staff role. */
export async function deleteStaffRole(
  on: Queryable,
  guildId: string,
  chatRoleId: string,
): Promise<StaffRole | undefined> {
  const [removed] = await on.query<StaffRole>(
    `DELETE FROM activity.staff_roles WHERE guild_id = $1 AND chat_role_id = $2 RETURNING ${ROLE}`,
    [guildId, chatRoleId],
  );
  return removed;
}

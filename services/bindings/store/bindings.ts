import { isUniqueViolation, type Queryable } from '#kit/postgres/pool.ts';
import type { Binding, NewBinding } from '../domain/binding.ts';

const BINDING = `id, chat_role_id AS "chatRoleId", type, game_group_id AS "gameGroupId", min_rank AS "minRank",
  max_rank AS "maxRank", gamepass_id AS "gamepassId", asset_id AS "assetId", badge_id AS "badgeId",
  account_age_platform AS "accountAgePlatform", account_age_min_days AS "accountAgeMinDays", priority, conditions, authority,
  member_template AS "nicknameTemplate"`;

/** Reads up to `limit` role bindings of a guild, ordered by priority, then by ID. */
export function listBindings(on: Queryable, guildId: string, limit: number): Promise<Binding[]> {
  return on.query(
    `SELECT ${BINDING} FROM bindings.bindings WHERE guild_id = $1 ORDER BY priority NULLS LAST, id LIMIT $2`,
    [guildId, limit],
  );
}

/** Reads up to `limit` role bindings of a guild that name one of the chat roles, ordered by priority, then by ID. */
export function listBindingsOfRoles(
  on: Queryable,
  guildId: string,
  chatRoleIds: readonly string[],
  limit: number,
): Promise<Binding[]> {
  return on.query(
    `SELECT ${BINDING} FROM bindings.bindings WHERE guild_id = $1 AND chat_role_id = ANY($2)
     ORDER BY priority NULLS LAST, id LIMIT $3`,
    [guildId, chatRoleIds, limit],
  );
}

export async function findBinding(on: Queryable, guildId: string, id: number): Promise<Binding | undefined> {
  const [binding] = await on.query<Binding>(
    `SELECT ${BINDING} FROM bindings.bindings WHERE guild_id = $1 AND id = $2`,
    [guildId, id],
  );
  return binding;
}

/** Reads a role binding and locks its row against concurrent changes until the transaction ends. */
export async function lockBinding(transaction: Queryable, guildId: string, id: number): Promise<Binding | undefined> {
  const [binding] = await transaction.query<Binding>(
    `SELECT ${BINDING} FROM bindings.bindings WHERE guild_id = $1 AND id = $2 FOR NO KEY UPDATE`,
    [guildId, id],
  );
  return binding;
}

/**
 * Prevents other transactions from adding role bindings to the guild until this transaction ends, so that the bindings
 * can be counted.
 */
export async function lockGuild(transaction: Queryable, guildId: string): Promise<void> {
  await transaction.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`bindings.bindings\n${guildId}`]);
}

/** Counts the role bindings of a guild. */
export async function countBindings(on: Queryable, guildId: string): Promise<number> {
  const [row] = await on.query<{ count: number }>(
    'SELECT count(*) AS count FROM bindings.bindings WHERE guild_id = $1',
    [guildId],
  );
  return row?.count ?? 0;
}

/** Inserts a role binding and returns it; undefined if the guild has an identical binding. */
export async function insertBinding(
  on: Queryable,
  guildId: string,
  binding: NewBinding,
  now: Date,
): Promise<Binding | undefined> {
  const [inserted] = await on.query<Binding>(
    `WITH numbered AS (
       INSERT INTO bindings.counters AS counter (guild_id, last_id)
       SELECT $1, 1 + GREATEST(0, (SELECT max(id) FROM bindings.bindings WHERE guild_id = $1))
       ON CONFLICT (guild_id) DO UPDATE SET last_id = GREATEST(counter.last_id + 1, excluded.last_id)
       RETURNING last_id
     )
     INSERT INTO bindings.bindings (guild_id, id, chat_role_id, type, game_group_id, min_rank, max_rank, gamepass_id,
       asset_id, badge_id, account_age_platform, account_age_min_days, priority, conditions, authority, member_template,
       created_at, updated_at)
     SELECT $1, last_id, $2, $3, $4::bigint, $5::smallint, $6::smallint, $7::bigint, $8::bigint, $9::bigint, $10,
       $11::integer, $12::integer, $14::jsonb, $15, $16, $13::timestamptz, $13
     FROM numbered
     ON CONFLICT ON CONSTRAINT bindings_identical DO NOTHING
     RETURNING ${BINDING}`,
    [
      guildId,
      binding.chatRoleId,
      binding.type,
      binding.gameGroupId,
      binding.minRank,
      binding.maxRank,
      binding.gamepassId,
      binding.assetId,
      binding.badgeId,
      binding.accountAgePlatform,
      binding.accountAgeMinDays,
      binding.priority,
      now,
      JSON.stringify(binding.conditions),
      binding.authority,
      binding.nicknameTemplate,
    ],
  );
  return inserted;
}

/** Updates a role binding. Returns false if the guild has another binding that would then be identical. */
export async function updateBinding(
  on: Queryable,
  guildId: string,
  { id, minRank, maxRank, priority, conditions, authority, nicknameTemplate }: Binding,
  now: Date,
): Promise<boolean> {
  try {
    await on.query(
      `UPDATE bindings.bindings SET min_rank = $3, max_rank = $4, priority = $5, updated_at = $6, conditions = $7::jsonb,
         authority = $8, member_template = $9
       WHERE guild_id = $1 AND id = $2`,
      [guildId, id, minRank, maxRank, priority, now, JSON.stringify(conditions), authority, nicknameTemplate],
    );
    return true;
  } catch (error) {
    if (isUniqueViolation(error, 'bindings_identical')) return false;
    throw error;
  }
}

/** Deletes a role binding and returns the deleted binding; undefined if the guild has no such binding. */
export async function deleteBinding(on: Queryable, guildId: string, id: number): Promise<Binding | undefined> {
  const [deleted] = await on.query<Binding>(
    `DELETE FROM bindings.bindings WHERE guild_id = $1 AND id = $2 RETURNING ${BINDING}`,
    [guildId, id],
  );
  return deleted;
}

import type { Queryable } from '#kit/postgres/pool.ts';
import { LIFT_ACTIONS, type NewLift, type NewPunishment, type Punishment } from '../domain/punishment.ts';
import { EVERYWHERE, PUNISHMENT_COLUMNS } from './columns.ts';

/**
 * Locks a player until the transaction ends, so that decisions about the player happen one after the other. Returns the
 * time of this decision by the database's clock. The time is read after the lock is taken, so it is later than that of
 * the previous decision. The transaction gets its ID before that time, so that readers that cannot see its rows yet
 * know that the transaction is writing (kit/postgres/change-time.ts).
 */
export async function lockUser(on: Queryable, guildId: string, gameId: number): Promise<Date> {
  const [row] = await on.query<{ now: Date }>(
    `SELECT pg_current_xact_id(), pg_advisory_xact_lock(hashtextextended($1, 0)), clock_timestamp() AS now`,
    [`moderation.user\n${guildId}\n${gameId}`],
  );
  if (!row) throw new Error('the statement returned no row');
  return row.now;
}

/**
 * Builds SQL that allocates `count` record numbers of guild $1 and returns the last of them, or no row for a count of
 * 0. The numbers are above every number in use, even if the counter was erased with its guild, or if a process of the
 * previous release inserted rows without the counter.
 */
const allocateNumbers = (count: string) => `
  INSERT INTO moderation.counters AS counter (guild_id, last_id)
  SELECT $1, ${count} + GREATEST(0, (SELECT max(id) FROM moderation.punishments WHERE guild_id = $1),
    (SELECT max(id) FROM moderation.log WHERE guild_id = $1))
  WHERE ${count} > 0
  ON CONFLICT (guild_id) DO UPDATE SET last_id = GREATEST(counter.last_id + ${count}, excluded.last_id)
  RETURNING last_id`;

/**
 * Marks a player's expired punishment as ended, so that a new punishment can be inserted in the same scope. Returns the
 * punishment if its expiry was not reported before.
 */
export async function endExpired(
  on: Queryable,
  guildId: string,
  { kind, gameId, placeId }: Pick<NewPunishment, 'kind' | 'gameId' | 'placeId'>,
  now: Date,
): Promise<Punishment[]> {
  const ended = await on.query<Punishment & { isUnreported: boolean }>(
    `UPDATE moderation.punishments SET ended_at = expires_at
     WHERE guild_id = $1 AND game_id = $2 AND place_id = $3 AND kind = $4 AND ended_at IS NULL AND expires_at <= $5
     RETURNING ${PUNISHMENT_COLUMNS}, expires_at > expiry_reported_to AS "isUnreported"`,
    [guildId, gameId, placeId ?? EVERYWHERE, kind, now],
  );
  return ended.filter(({ isUnreported }) => isUnreported);
}

/**
 * Inserts a punishment, its log row and its outbox row in one statement. Returns undefined if a punishment of the same
 * kind is in force in the scope already.
 */
export async function insertPunishment(
  on: Queryable,
  guildId: string,
  punishment: NewPunishment,
  now: Date,
): Promise<Punishment | undefined> {
  const [inserted] = await on.query<Punishment>(
    `WITH numbered AS (${allocateNumbers('2')}), punished AS (
       INSERT INTO moderation.punishments (guild_id, id, kind, game_id, place_id, game_username, reason,
         moderator_game_id, moderator_chat_id, source_server_id, created_at, expires_at, updated_at)
       SELECT $1, last_id - 1, $2, $3::bigint, $4::bigint, $5, $6, $7::bigint, $8, $9, $10,
         COALESCE($10::timestamptz + $11::bigint * interval '1 second', 'infinity'), $10
       FROM numbered
       ON CONFLICT (guild_id, game_id, place_id, kind) WHERE ended_at IS NULL DO NOTHING
       RETURNING *
     ), logged AS (
       INSERT INTO moderation.log (guild_id, id, action, punishment_id, game_id, place_id, game_username, reason,
         moderator_game_id, moderator_chat_id, source_server_id, duration_seconds, expires_at, created_at)
       SELECT guild_id, id + 1, kind, id, game_id, place_id, game_username, reason,
         moderator_game_id, moderator_chat_id, source_server_id, $11, NULLIF(expires_at, 'infinity'), created_at
       FROM punished RETURNING guild_id, id
     ), queued AS (
       INSERT INTO moderation.outbox (guild_id, log_id) SELECT guild_id, id FROM logged
     )
     SELECT ${PUNISHMENT_COLUMNS} FROM punished`,
    [
      guildId,
      punishment.kind,
      punishment.gameId,
      punishment.placeId ?? EVERYWHERE,
      punishment.gameUsername,
      punishment.reason,
      punishment.moderatorGameId,
      punishment.moderatorChatId,
      punishment.sourceServerId,
      now,
      punishment.durationSeconds,
    ],
  );
  return inserted;
}

/** The punishments of a player in force, in one scope or in all. */
const IN_FORCE = `guild_id = $1 AND game_id = $2 AND kind = $3 AND ended_at IS NULL AND expires_at > $4
  AND ($5::bigint IS NULL OR place_id = $5)`;

/**
 * Lifts a player's punishments in force in one scope, or in all scopes, and inserts their log rows and outbox rows in
 * one statement. Returns the lifted punishments.
 */
export async function liftPunishments(on: Queryable, guildId: string, lift: NewLift, now: Date): Promise<Punishment[]> {
  const place = lift.placeId === undefined ? null : (lift.placeId ?? EVERYWHERE);
  const scope = [guildId, lift.gameId, lift.kind, now, place];
  // Citus does not count rows of the same statement in ON CONFLICT. The player is locked, so the number stays the same.
  const count = (await on.isDistributed?.()) ? await countInForce(on, scope) : undefined;
  return on.query(
    `WITH lifted AS (
       UPDATE moderation.punishments SET ended_at = $4, updated_at = $4
       WHERE ${IN_FORCE}
       RETURNING *
     ), numbered AS (
       ${allocateNumbers(count === undefined ? '(SELECT count(*) FROM lifted)' : '$11::bigint')}
     ), logged AS (
       INSERT INTO moderation.log (guild_id, id, action, punishment_id, game_id, place_id, game_username, reason,
         moderator_game_id, moderator_chat_id, source_server_id, created_at)
       SELECT lifted.guild_id, last_id + 1 - row_number() OVER (ORDER BY lifted.id DESC), $6, lifted.id, game_id,
         place_id, game_username, $7, $8::bigint, $9, $10, $4
       FROM lifted, numbered RETURNING guild_id, id
     ), queued AS (
       INSERT INTO moderation.outbox (guild_id, log_id) SELECT guild_id, id FROM logged
     )
     SELECT ${PUNISHMENT_COLUMNS} FROM lifted`,
    [
      ...scope,
      LIFT_ACTIONS[lift.kind],
      lift.reason,
      lift.moderatorGameId,
      lift.moderatorChatId,
      lift.sourceServerId,
      ...(count === undefined ? [] : [count]),
    ],
  );
}

async function countInForce(on: Queryable, scope: readonly unknown[]): Promise<number> {
  const [row] = await on.query<{ count: number }>(
    `SELECT count(*) AS count FROM moderation.punishments WHERE ${IN_FORCE}`,
    scope,
  );
  return row?.count ?? 0;
}

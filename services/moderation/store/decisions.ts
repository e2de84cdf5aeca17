import type { Queryable } from '#kit/postgres/pool.ts';
import { LIFTING, type NewLift, type NewPunishment, type Punishment } from '../domain/punishment.ts';
import { EVERYWHERE, PUNISHMENT } from './columns.ts';

/**
 * Holds a user's decisions until the transaction ends, so that they come one after the other. Returns the time of this
 * one by the database's clock: later than that of the one before, since the lock is taken first. The transaction gets
 * its number before that time, so that readers who do not see its rows yet see it as a writer (kit/change-time.ts).
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
 * Takes as many of the guild's numbers as `count` says, none for 0; its row has the last of them. Above every number that
 * is in use, also where the row was erased with its guild or a process of the release before wrote rows without it.
 */
const takeNumbers = (count: string) => `
  INSERT INTO moderation.counters AS counter (guild_id, last_id)
  SELECT $1, ${count} + GREATEST(0, (SELECT max(id) FROM moderation.punishments WHERE guild_id = $1),
    (SELECT max(id) FROM moderation.log WHERE guild_id = $1))
  WHERE ${count} > 0
  ON CONFLICT (guild_id) DO UPDATE SET last_id = GREATEST(counter.last_id + ${count}, excluded.last_id)
  RETURNING last_id`;

/** Makes room where a punishment has expired. */
export async function endExpired(
  on: Queryable,
  guildId: string,
  { kind, gameId, placeId }: Pick<NewPunishment, 'kind' | 'gameId' | 'placeId'>,
  now: Date,
): Promise<void> {
  await on.query(
    `UPDATE moderation.punishments SET ended_at = expires_at
     WHERE guild_id = $1 AND game_id = $2 AND place_id = $3 AND kind = $4 AND ended_at IS NULL AND expires_at <= $5`,
    [guildId, gameId, placeId ?? EVERYWHERE, kind, now],
  );
}

/** Decided, logged and put into the outbox in one statement; undefined when one is in force already. */
export async function insertPunishment(
  on: Queryable,
  guildId: string,
  punishment: NewPunishment,
  now: Date,
): Promise<Punishment | undefined> {
  const [inserted] = await on.query<Punishment>(
    `WITH numbered AS (${takeNumbers('2')}), punished AS (
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
     SELECT ${PUNISHMENT} FROM punished`,
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

/** Lifts, logs and puts into the outbox in one statement: what is in force of the scope, or of all scopes. */
export function liftPunishments(on: Queryable, guildId: string, lift: NewLift, now: Date): Promise<Punishment[]> {
  const place = lift.placeId === undefined ? null : (lift.placeId ?? EVERYWHERE);
  return on.query(
    `WITH lifted AS (
       UPDATE moderation.punishments SET ended_at = $4, updated_at = $4
       WHERE guild_id = $1 AND game_id = $2 AND kind = $3 AND ended_at IS NULL AND expires_at > $4
         AND ($5::bigint IS NULL OR place_id = $5)
       RETURNING *
     ), numbered AS (
       ${takeNumbers('(SELECT count(*) FROM lifted)')}
     ), logged AS (
       INSERT INTO moderation.log (guild_id, id, action, punishment_id, game_id, place_id, game_username, reason,
         moderator_game_id, moderator_chat_id, source_server_id, created_at)
       SELECT lifted.guild_id, last_id + 1 - row_number() OVER (ORDER BY lifted.id DESC), $6, lifted.id, game_id,
         place_id, game_username, $7, $8::bigint, $9, $10, $4
       FROM lifted, numbered RETURNING guild_id, id
     ), queued AS (
       INSERT INTO moderation.outbox (guild_id, log_id) SELECT guild_id, id FROM logged
     )
     SELECT ${PUNISHMENT} FROM lifted`,
    [
      guildId,
      lift.gameId,
      lift.kind,
      now,
      place,
      LIFTING[lift.kind],
      lift.reason,
      lift.moderatorGameId,
      lift.moderatorChatId,
      lift.sourceServerId,
    ],
  );
}

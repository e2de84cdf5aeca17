import type { Queryable } from '#kit/postgres/pool.ts';
import type { Punishment } from '../domain/punishment.ts';
import { type End, renewalOf, type Sides } from '../domain/timeouts/decide.ts';
import { EVERYWHERE, PUNISHMENT_COLUMNS } from './columns.ts';

/** A player, and the chat account to which the player is linked. */
export interface LinkedPlayer {
  guildId: string;
  gameId: number;
  chatId: string;
}

/** Returns the mute of a player that applies everywhere and is in force, and the time by the database's clock. */
export async function readMute(
  on: Queryable,
  guildId: string,
  gameId: number,
): Promise<{ now: Date; mute: Punishment | undefined }> {
  const [row] = await on.query<Punishment & { now: Date }>(
    `SELECT now, ${PUNISHMENT_COLUMNS} FROM (SELECT clock_timestamp() AS now) AS time
     LEFT JOIN moderation.punishments ON guild_id = $1 AND game_id = $2 AND place_id = ${EVERYWHERE} AND kind = 'mute'
       AND ended_at IS NULL AND expires_at > now`,
    [guildId, gameId],
  );
  if (!row) throw new Error('the statement returned no row');
  const { now, ...mute } = row;
  return { now, mute: (mute.id as number | null) === null ? undefined : mute };
}

/** Returns what a player's mute and timeout were when they were last equal; both 0 if they never were. */
export async function readAgreement(on: Queryable, { guildId, gameId, chatId }: LinkedPlayer): Promise<Sides> {
  const [row] = await on.query<{ mute: number | null; timeout: number | null }>(
    `SELECT (extract(epoch FROM muted_until) * 1000)::float8 AS mute,
       (extract(epoch FROM timeout_until) * 1000)::float8 AS timeout
     FROM moderation.timeouts WHERE guild_id = $1 AND game_id = $2 AND chat_id = $3`,
    [guildId, gameId, chatId],
  );
  return { mute: row?.mute ?? 0, timeout: row?.timeout ?? 0 };
}

/** Stores that a player's mute and timeout are equal now. */
export async function storeAgreement(
  on: Queryable,
  { guildId, gameId, chatId }: LinkedPlayer,
  sides: Sides,
): Promise<void> {
  const { mute, timeout } = sides;
  const renewal = renewalOf(sides);
  await on.query(
    `INSERT INTO moderation.timeouts (guild_id, game_id, chat_id, muted_until, timeout_until, ends_at, renew_at)
     VALUES ($1, $2, $3, $4::timestamptz, $5::timestamptz, COALESCE(GREATEST($4, $5), clock_timestamp()), $6)
     ON CONFLICT (guild_id, game_id) DO UPDATE SET chat_id = excluded.chat_id, muted_until = excluded.muted_until,
       timeout_until = excluded.timeout_until, ends_at = excluded.ends_at, renew_at = excluded.renew_at`,
    [
      guildId,
      gameId,
      chatId,
      timestampOf(mute),
      timestampOf(timeout),
      renewal === undefined ? null : new Date(renewal),
    ],
  );
}

/** Returns up to `limit` players whose timeouts have to be extended. */
export function findRenewals(on: Queryable, limit: number): Promise<{ guildId: string; gameId: number }[]> {
  return on.query(
    `SELECT guild_id AS "guildId", game_id AS "gameId" FROM moderation.timeouts
     WHERE renew_at <= (SELECT clock_timestamp()) ORDER BY renew_at LIMIT $1`,
    [limit],
  );
}

/** Stores that players are queued whose timeouts have to be extended. */
export async function endRenewals(on: Queryable, guildId: string, gameIds: readonly number[]): Promise<void> {
  await on.query(
    `WITH due AS MATERIALIZED (
       SELECT game_id FROM moderation.timeouts WHERE guild_id = $1 AND game_id = ANY($2::bigint[])
       ORDER BY game_id FOR UPDATE
     )
     UPDATE moderation.timeouts SET renew_at = NULL FROM due
     WHERE timeouts.guild_id = $1 AND timeouts.game_id = due.game_id AND renew_at <= clock_timestamp()`,
    [guildId, gameIds],
  );
}

function timestampOf(end: End): Date | string | null {
  if (end === 0) return null;
  return end === Infinity ? 'infinity' : new Date(end);
}

import { prepared, type Queryable } from '#kit/postgres/pool.ts';
import { EVENT_BYTES } from './log.ts';

/** How long after its last confirmation a stream counts as open. The streams of a process that died stop counting then. */
const SEEN_SECONDS = 45;

/** A stream in the table of open streams. */
export interface StreamRow {
  guildId: string;
  id: string;
  /** When the stream opened, in Unix microseconds of the database's clock; null if it is added for the first time. */
  openedAt: number | null;
}

/** Adds streams or confirms that they are open. Returns when each was opened. */
export function confirmStreams(
  on: Queryable,
  streams: readonly StreamRow[],
): Promise<{ id: string; openedAt: number }[]> {
  return on.query(CONFIRM, [
    streams.map(({ guildId }) => guildId),
    streams.map(({ id }) => id),
    streams.map(({ openedAt }) => openedAt),
  ]);
}

const CONFIRM = prepared(`INSERT INTO events.streams AS stream (guild_id, id, opened_at, seen_at)
  SELECT guild_id, id, coalesce(to_timestamp(opened_at / 1000000.0), clock_timestamp()), clock_timestamp()
  FROM unnest($1::text[], $2::uuid[], $3::bigint[]) AS given (guild_id, id, opened_at)
  ON CONFLICT (guild_id, id) DO UPDATE SET seen_at = excluded.seen_at
  RETURNING id, (extract(epoch FROM opened_at) * 1000000)::bigint AS "openedAt"`);

/**
 * Deletes the streams of these guilds that are not among the newest `max` of their guild, and returns them. Called after
 * a stream was added, it leaves at most `max` even if several are added at the same time: the last of the calls sees all.
 */
export function removeSurplusStreams(
  on: Queryable,
  guildIds: readonly string[],
  max: number,
): Promise<{ guildId: string; id: string }[]> {
  return on.query(SURPLUS, [guildIds, max]);
}

const SURPLUS = prepared(`DELETE FROM events.streams WHERE (guild_id, id) IN (
    SELECT guild_id, id FROM (
      SELECT guild_id, id, row_number() OVER (PARTITION BY guild_id ORDER BY opened_at DESC, id DESC) AS place
      FROM events.streams
      WHERE guild_id = ANY($1::text[]) AND seen_at > clock_timestamp() - interval '${SEEN_SECONDS} s'
    ) AS ranked WHERE place > $2
  ) RETURNING guild_id AS "guildId", id`);

export async function removeStreams(on: Queryable, streams: readonly StreamRow[]): Promise<void> {
  await on.query(REMOVE, [streams.map(({ guildId }) => guildId), streams.map(({ id }) => id)]);
}

const REMOVE = prepared(
  'DELETE FROM events.streams WHERE (guild_id, id) IN (SELECT * FROM unnest($1::text[], $2::uuid[]))',
);

/** Deletes the streams of processes that died. The table is small: it has one row per open stream. */
export async function removeDeadStreams(on: Queryable): Promise<void> {
  await on.query(`DELETE FROM events.streams WHERE seen_at < clock_timestamp() - interval '${SEEN_SECONDS} s'`);
}

/** Enough events for more than 1 MiB, however small they are. */
const MAX_COUNTED = 3_000;

/** Returns the bytes of a guild's events after a seq; of at least 3,000 events if there are more. */
export async function bytesAfter(on: Queryable, guildId: string, seq: number): Promise<number> {
  const [row] = await on.query<{ bytes: number }>(BYTES_AFTER, [guildId, seq]);
  return row?.bytes ?? 0;
}

const BYTES_AFTER = prepared(`SELECT coalesce(sum(size + ${EVENT_BYTES}), 0)::bigint AS bytes FROM (
    SELECT size FROM events.log
    WHERE guild_id = $1 AND seq > $2 AND day >= (
      SELECT day FROM events.days WHERE days.guild_id = $1 AND first_seq <= $2 + 1 ORDER BY day DESC LIMIT 1)
    ORDER BY day, seq LIMIT ${MAX_COUNTED}
  ) AS newer`);

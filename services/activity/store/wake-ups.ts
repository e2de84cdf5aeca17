import type { Queryable } from '#kit/postgres/pool.ts';

/** The maximum number of universes of a guild whose servers are woken; a guild chooses what its servers report. */
export const MAX_UNIVERSES = 10;
/** The maximum number of servers and places that a message names; a message for more is for all servers. */
export const MAX_NAMED = 10;
/**
 * The minimum milliseconds between two messages to a universe. A topic with a single server receives at most 120
 * messages a minute.
 */
export const MIN_GAP_MS = 500;
/** The seconds for which no message is sent to a universe that the game platform has rejected. */
const REJECTED_SECONDS = 600;

/** The servers and places to wake, as `server:ID` and `place:ID`; empty for all servers. */
export type Named = readonly string[];

/** A universe whose servers have to be woken. */
export interface WakeUp {
  universeId: number;
  recipients: Named;
  /** Milliseconds until the message may be sent; null if this process has to send it now. */
  waitMs: number | null;
}

/**
 * Requests a message to the universes whose live servers are among the recipients. A request that no process has taken
 * yet also gets these recipients. The caller must hold the lock of the guild, because the number of its universes is
 * limited.
 */
export async function requestWakeUps(
  transaction: Queryable,
  { guildId, recipients, now }: { guildId: string; recipients: Named; now: Date },
): Promise<void> {
  await transaction.query(
    `WITH reached AS (
       SELECT DISTINCT universe_id FROM activity.servers
       WHERE guild_id = $1 AND is_counted AND live_until > $3 AND universe_id IS NOT NULL
         AND (cardinality($2::text[]) = 0 OR 'server:' || server_id = ANY($2) OR 'place:' || place_id = ANY($2))
     ), known AS (
       SELECT universe_id FROM activity.wake_ups WHERE guild_id = $1
     ), added AS (
       SELECT universe_id FROM reached WHERE universe_id NOT IN (SELECT universe_id FROM known)
       ORDER BY universe_id LIMIT greatest(0, ${MAX_UNIVERSES} - (SELECT count(*) FROM known))
     ), chosen AS (
       SELECT universe_id FROM reached JOIN known USING (universe_id) UNION ALL SELECT universe_id FROM added
     )
     INSERT INTO activity.wake_ups AS stored (guild_id, universe_id, recipients, is_requested, requested_at, not_before)
     SELECT $1, universe_id, $2, true, clock_timestamp(), clock_timestamp() FROM chosen
     ON CONFLICT (guild_id, universe_id) DO UPDATE SET is_requested = true, requested_at = excluded.requested_at,
       recipients = CASE
         WHEN NOT stored.is_requested THEN excluded.recipients
         WHEN 0 IN (cardinality(stored.recipients), cardinality(excluded.recipients)) THEN '{}'
         WHEN cardinality(stored.recipients || excluded.recipients) > ${MAX_NAMED} THEN '{}'
         ELSE stored.recipients || excluded.recipients END`,
    [guildId, recipients, now],
  );
}

/**
 * Takes the requests of a guild whose messages may be sent now, so that no other process sends them too. The result also
 * has the requests that have to wait.
 */
export function takeWakeUps(on: Queryable, guildId: string): Promise<WakeUp[]> {
  return on.query<WakeUp>(
    `WITH now AS MATERIALIZED (
       SELECT clock_timestamp() AS at, clock_timestamp() + interval '${MIN_GAP_MS} milliseconds' AS next
     ), taken AS (
       UPDATE activity.wake_ups SET is_requested = false, not_before = next
       FROM now WHERE guild_id = $1 AND is_requested AND not_before <= at
       RETURNING universe_id, recipients
     )
     SELECT universe_id AS "universeId", recipients, NULL::float8 AS "waitMs" FROM taken
     UNION ALL
     SELECT universe_id, recipients, ceil(extract(epoch FROM not_before - at) * 1000)::float8
     FROM activity.wake_ups, now WHERE guild_id = $1 AND is_requested AND not_before > at`,
    [guildId],
  );
}

/** Stores that the game platform has rejected a message to a universe, so that none is sent for ten minutes. */
export async function pauseWakeUps(on: Queryable, guildId: string, universeId: number): Promise<void> {
  await on.query(
    `UPDATE activity.wake_ups SET not_before = clock_timestamp() + interval '${REJECTED_SECONDS} seconds'
     WHERE guild_id = $1 AND universe_id = $2`,
    [guildId, universeId],
  );
}

import type { Queryable } from '#kit/postgres/pool.ts';

/** Days since 1970-01-01 (UTC), the first and the last one included. */
export interface DayRange {
  firstDay: number;
  lastDay: number;
}

/**
 * What a staff member did on a day (UTC). The migration 0010_staff_days.sql describes the format of the totals, and
 * deploy/decisions/0018-staff-report.md the reasons for it.
 */
export interface StaffDay {
  gameId: number;
  day: number;
  /** The types of actions, separated by line breaks, which no type contains. */
  actionTypes: string;
  /** The totals of sessions and of actions in base64, which takes less time to transfer and read than bytea. */
  totals: string;
}

/** A staff session that has not ended, and is therefore not among the totals of the day. */
export interface OpenSession {
  gameId: number;
  day: null;
  startedAt: Date;
  /** Its last heartbeat. */
  beatAt: Date;
  idleSeconds: number;
}

/** The staff members that a search has passed, in the order of their game IDs. */
export interface FoundStaff {
  gameId: number;
  /** True if the staff member has totals in the range of days, or an open session. */
  isActive: boolean;
}

const TOTALS = 'SELECT game_id FROM activity.staff_days WHERE guild_id = $1 AND game_id >';
const OPEN = 'SELECT game_id FROM activity.sessions WHERE guild_id = $1 AND ended_at IS NULL AND game_id >';

/** SQL for the smallest game ID of a staff member after another one. NULL if there is none. */
const nextAfter = (gameId: string) =>
  `least((${TOTALS} ${gameId} ORDER BY game_id LIMIT 1), (${OPEN} ${gameId} ORDER BY game_id LIMIT 1))`;

/** SQL for a number of days since 1970-01-01 as a date. */
const dateOf = (days: string) => `(date '1970-01-01' + ${days}::integer)`;

/**
 * Finds up to `limit` staff members of a guild after a game ID, active or not. Goes from one to the next through the
 * primary key, so that the cost does not depend on the number of their days.
 */
export function findStaff(
  on: Queryable,
  guildId: string,
  { firstDay, lastDay }: DayRange,
  { after, limit }: { after: number; limit: number },
): Promise<FoundStaff[]> {
  return on.query(
    `WITH RECURSIVE staff (game_id, position) AS (
       SELECT ${nextAfter('$2::bigint')}, 1
       UNION ALL
       SELECT ${nextAfter('staff.game_id')}, position + 1 FROM staff WHERE game_id IS NOT NULL AND position < $3
     )
     SELECT game_id AS "gameId", coalesce(
         (SELECT true FROM activity.staff_days WHERE guild_id = $1 AND staff_days.game_id = staff.game_id
            AND day BETWEEN ${dateOf('$4')} AND ${dateOf('$5')} LIMIT 1),
         (SELECT true FROM activity.sessions
          WHERE guild_id = $1 AND sessions.game_id = staff.game_id AND ended_at IS NULL LIMIT 1),
         false) AS "isActive"
     FROM staff WHERE game_id IS NOT NULL ORDER BY position`,
    [guildId, after, limit, firstDay, lastDay],
  );
}

/**
 * Returns the totals of staff members in a range of days, and their open sessions. One statement reads both, so that a
 * session that ends meanwhile is in exactly one of them.
 */
export function readStaffDays(
  on: Queryable,
  guildId: string,
  gameIds: readonly number[],
  { firstDay, lastDay }: DayRange,
): Promise<(StaffDay | OpenSession)[]> {
  return on.query(
    `SELECT game_id AS "gameId", day - date '1970-01-01' AS day,
       array_to_string(action_types, E'\\n') AS "actionTypes",
       encode(session_totals || action_totals, 'base64') AS totals, NULL::timestamptz AS "startedAt", NULL::timestamptz AS "beatAt", NULL::bigint AS "idleSeconds"
     FROM activity.staff_days
     WHERE guild_id = $1 AND game_id = ANY($2::bigint[]) AND day BETWEEN ${dateOf('$3')} AND ${dateOf('$4')}
     UNION ALL
     SELECT game_id, NULL, NULL, NULL, started_at, beat_at, idle_seconds
     FROM activity.sessions WHERE guild_id = $1 AND game_id = ANY($2::bigint[]) AND ended_at IS NULL`,
    [guildId, gameIds, firstDay, lastDay],
  );
}

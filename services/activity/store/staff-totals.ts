import { unixSeconds } from '#kit/clock.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { Session } from './sessions.ts';

/** At most the first seven days of a session count, so that the rows that its end changes are few. */
export const MAX_SESSION_SECONDS = 7 * 24 * 3600;
/** The maximum number of action types that are counted by name for a staff member in an hour. */
export const MAX_TYPES = 20;
/** The maximum number of hours to which one statement adds sessions; it changes five rows for each hour. */
const MAX_HOURS = 2_000;
/** The maximum number of staff members that one statement checks for what they did in the time of a report. */
export const MAX_CHECKED_STAFF = 1_000;

const WIDTHS = '(VALUES (900), (3600)) AS widths (width)';

export type FinishedSession = Pick<Session, 'guildId' | 'gameId' | 'startedAt' | 'endedAt' | 'idleSeconds'>;

/**
 * The part of a session that counts, in whole seconds like the times in responses. Idle seconds are at most the length,
 * because clients report them.
 */
export function countedPart({ startedAt, endedAt, idleSeconds }: FinishedSession) {
  const started = unixSeconds(startedAt);
  const end = endedAt === null ? started : unixSeconds(endedAt);
  const ended = Math.max(started, Math.min(end, started + MAX_SESSION_SECONDS));
  return { started, ended, idle: Math.min(idleSeconds, ended - started) };
}

/**
 * Adds sessions to the totals of their staff members. Must be called once for each session, in the transaction that ends
 * it. Idle seconds are spread evenly over a session.
 */
export async function addSessions(transaction: Queryable, sessions: readonly FinishedSession[]): Promise<void> {
  let batch: { guildId: string; gameId: number; started: number; ended: number; idle: number }[] = [];
  let hours = 0;
  const sorted = sessions.toSorted(
    (a, b) => compare(a.guildId, b.guildId) || a.gameId - b.gameId || Number(a.startedAt) - Number(b.startedAt),
  );
  for (const session of sorted) {
    const part = countedPart(session);
    batch.push({ guildId: session.guildId, gameId: session.gameId, ...part });
    hours += 1 + (part.ended - part.started) / 3600;
    if (hours < MAX_HOURS) continue;
    await addParts(transaction, batch);
    batch = [];
    hours = 0;
  }
  if (batch.length > 0) await addParts(transaction, batch);
}

const compare = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1);

async function addParts(transaction: Queryable, sessions: readonly object[]): Promise<void> {
  await transaction.query(
    `INSERT INTO activity.staff_totals AS totals (guild_id, game_id, width, slot, sessions, seconds, idle_seconds)
     SELECT "guildId", "gameId", width, to_timestamp(slot), sum((slot <= started)::int),
       sum(least(ended, slot + width) - greatest(started, slot)),
       sum(idle * (least(ended, slot + width) - started) / length
         - idle * (greatest(started, slot) - started) / length)
     FROM json_to_recordset($1) AS given ("guildId" text, "gameId" bigint, started bigint, ended bigint, idle bigint)
     CROSS JOIN LATERAL (SELECT greatest(ended - started, 1) AS length) AS lengths
     CROSS JOIN ${WIDTHS}
     CROSS JOIN LATERAL generate_series(started - started % width, greatest(started, ended - 1), width) AS slot
     GROUP BY "guildId", "gameId", width, slot ORDER BY "guildId" COLLATE "C", "gameId", width, slot
     ON CONFLICT (guild_id, game_id, width, slot) DO UPDATE SET sessions = totals.sessions + excluded.sessions,
       seconds = totals.seconds + excluded.seconds, idle_seconds = totals.idle_seconds + excluded.idle_seconds`,
    [JSON.stringify(sessions)],
  );
}

/**
 * Adds an action to the totals of its staff member. Must be called once for each action, in the transaction that logs it.
 */
export async function addAction(
  transaction: Queryable,
  { guildId, gameId, type, at }: { guildId: string; gameId: number; type: string; at: Date },
): Promise<void> {
  const slot = `date_bin(width * interval '1 second', $3::timestamptz, 'epoch')`;
  // Locks the rows of the staff member, so that the next statement counts the types of all other transactions.
  await transaction.query(
    `INSERT INTO activity.staff_totals AS totals (guild_id, game_id, width, slot)
     SELECT $1, $2, width, ${slot} FROM ${WIDTHS} ORDER BY width
     ON CONFLICT (guild_id, game_id, width, slot) DO UPDATE SET sessions = totals.sessions`,
    [guildId, gameId, at],
  );
  await transaction.query(
    `INSERT INTO activity.action_totals AS totals (guild_id, game_id, width, slot, action_type, actions)
     SELECT $1, $2, width, ${slot}, CASE WHEN named.types < ${MAX_TYPES} OR named.has_type THEN $4 ELSE '' END, 1
     FROM ${WIDTHS} CROSS JOIN (
       SELECT count(*) AS types, coalesce(bool_or(action_type = $4), false) AS has_type FROM activity.action_totals
       WHERE guild_id = $1 AND game_id = $2 AND width = 3600
         AND slot = date_bin('1 hour', $3::timestamptz, 'epoch') AND action_type <> ''
     ) AS named
     ORDER BY width
     ON CONFLICT (guild_id, game_id, width, slot, action_type) DO UPDATE SET actions = totals.actions + 1`,
    [guildId, gameId, at, type],
  );
}

/** A time range; `from` is inclusive and `to` exclusive. */
export interface Range {
  from: Date;
  to: Date;
}

/**
 * Returns up to `limit` staff members with an ID above `after` who did something in a time range, by ID. If it stops
 * after MAX_CHECKED_STAFF members, the last one has `isActive` false, and the caller continues after it.
 */
export function listStaff(
  on: Queryable,
  guildId: string,
  { from, to }: Range,
  { after, limit }: { after: number; limit: number },
): Promise<{ gameId: number; isActive: boolean }[]> {
  const next = (id: string) => `(SELECT totals.game_id FROM activity.staff_totals AS totals
    WHERE guild_id = $1 AND totals.game_id > ${id} ORDER BY totals.game_id LIMIT 1)`;
  // The hour in which the range begins may have begun before.
  const hours = `slot > $3::timestamptz - interval '1 hour' AND slot < $4`;
  return on.query(
    `WITH RECURSIVE staff AS (
       SELECT ${next('$2::bigint')} AS game_id, 1 AS checked
       UNION ALL
       SELECT ${next('staff.game_id')}, checked + 1 FROM staff
       WHERE staff.game_id IS NOT NULL AND checked < ${MAX_CHECKED_STAFF}
     )
     SELECT game_id AS "gameId", is_active AS "isActive" FROM staff
     CROSS JOIN LATERAL (SELECT EXISTS (
       SELECT FROM activity.staff_totals AS totals
       WHERE guild_id = $1 AND totals.game_id = staff.game_id AND width = 3600 AND ${hours}
     ) AS is_active) AS activity
     WHERE game_id IS NOT NULL AND (is_active OR checked = ${MAX_CHECKED_STAFF}) LIMIT $5`,
    [guildId, after, from, to, limit],
  );
}

/** Which totals to read: of these staff members, between the first and the last of these times. */
export interface TotalsQuery {
  gameIds: readonly number[];
  /** The start of each interval, and the end of the last one, in ascending order. */
  boundaries: readonly Date[];
}

const HOUR_MS = 3_600_000;

/**
 * SQL for the rows of a table of totals, with `interval` as the index of the interval. The hours in which an interval
 * begins or ends are read as quarters, all others as hours.
 */
const slotsOf = (table: string, columns: string) => {
  const inRange = (rows: string) => `guild_id = $1 AND game_id = ANY($2) AND ${rows} AND slot >= $3 AND slot < $4`;
  const selected = `SELECT game_id, width_bucket(slot, $5::timestamptz[]) - 1 AS interval, ${columns}`;
  return `${selected} FROM activity.${table} WHERE ${inRange('width = 3600')} AND slot <> ALL ($6::timestamptz[])
     UNION ALL
     ${selected} FROM unnest($6::timestamptz[]) AS split (hour) JOIN activity.${table}
       ON ${inRange('width = 900')} AND slot >= hour AND slot < hour + interval '1 hour'`;
};

function parametersOf(guildId: string, { gameIds, boundaries }: TotalsQuery): unknown[] {
  const split = boundaries.filter((time) => time.getTime() % HOUR_MS !== 0);
  const hours = split.map((time) => new Date(Math.floor(time.getTime() / HOUR_MS) * HOUR_MS));
  return [guildId, gameIds, boundaries[0], boundaries.at(-1), boundaries, hours];
}

export interface SessionTotals {
  gameId: number;
  /** The index of the interval. */
  interval: number;
  sessions: number;
  seconds: number;
  idleSeconds: number;
}

/** Returns the totals of sessions by staff member and interval. */
export function readSessionTotals(on: Queryable, guildId: string, query: TotalsQuery): Promise<SessionTotals[]> {
  return on.query(
    `SELECT game_id AS "gameId", interval, sum(sessions)::int AS sessions, sum(seconds)::int AS seconds,
       sum(idle_seconds)::int AS "idleSeconds"
     FROM (${slotsOf('staff_totals', 'sessions, seconds, idle_seconds')}) AS slots GROUP BY game_id, interval`,
    parametersOf(guildId, query),
  );
}

export interface ActionTotals {
  gameId: number;
  interval: number;
  /** The number of actions by type. The empty type stands for all types beyond the most frequent ones. */
  actions: Record<string, number>;
}

/** Returns the number of actions by staff member, interval and type, naming the 20 most frequent types of the result. */
export function readActionTotals(on: Queryable, guildId: string, query: TotalsQuery): Promise<ActionTotals[]> {
  return on.query(
    `WITH totals AS MATERIALIZED (
       SELECT game_id, interval, action_type, sum(actions) AS actions
       FROM (${slotsOf('action_totals', 'action_type, actions')}) AS slots GROUP BY game_id, interval, action_type
     ), named AS MATERIALIZED (
       SELECT action_type FROM totals WHERE action_type <> '' GROUP BY action_type
       ORDER BY sum(actions) DESC, action_type LIMIT ${MAX_TYPES}
     )
     -- One row for all types, because reading many rows takes most of the time of a large report.
     SELECT game_id AS "gameId", interval, json_object_agg(type, counted) AS actions
     FROM (
       SELECT game_id, interval, coalesce(named.action_type, '') AS type, sum(actions) AS counted
       FROM totals LEFT JOIN named USING (action_type) GROUP BY game_id, interval, named.action_type
     ) AS types GROUP BY game_id, interval`,
    parametersOf(guildId, query),
  );
}

import { guildStatement, inDueGuilds } from '#kit/postgres/citus/by-guild.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { ListConditions, microsOf, type TimePosition } from './time-lists.ts';

/** A session without a heartbeat for longer than this ended at the time of its last heartbeat: three intervals. */
export const SILENCE_SECONDS = 180;

export interface NewSession {
  guildId: string;
  sessionId: string;
  gameId: number;
  gameUsername: string | undefined;
  placeId: number;
  serverId: string;
}

/** A stored staff session. */
export interface Session {
  guildId: string;
  sessionId: string;
  gameId: number;
  gameUsername: string | null;
  placeId: number;
  serverId: string;
  startedAt: Date;
  /** When the session ended; null while it is open. */
  endedAt: Date | null;
  idleSeconds: number;
  endReason: string | null;
}

export interface EndedSession extends Session {
  endedAt: Date;
  /** True if this call ended the session; false if the session had ended before. */
  isNew: boolean;
}

/** The columns of a Session, for an SQL SELECT or RETURNING. */
export const SESSION = `sessions.guild_id AS "guildId", sessions.session_id AS "sessionId", game_id AS "gameId",
  game_username AS "gameUsername", place_id AS "placeId", server_id AS "serverId", started_at AS "startedAt",
  sessions.ended_at AS "endedAt", idle_seconds AS "idleSeconds", end_reason AS "endReason"`;

/**
 * SQL for the time at which a session without another heartbeat has lapsed; the heartbeat is the SQL expression `beat`.
 */
export const lapseOf = (beat: string) => `${beat} + interval '${SILENCE_SECONDS} seconds 1 millisecond'`;

/**
 * Ends the open staff session of a user on a server as of its last heartbeat, if the last heartbeat was before
 * `silentSince`. Returns the session, or nothing.
 */
export function endLapsed(
  on: Queryable,
  { guildId, gameId, serverId }: NewSession,
  silentSince: Date,
): Promise<Session[]> {
  return on.query(
    `UPDATE activity.sessions SET ended_at = beat_at, end_reason = 'missed beats'
     WHERE guild_id = $1 AND game_id = $2 AND server_id = $3 AND ended_at IS NULL AND beat_at < $4
     RETURNING ${SESSION}`,
    [guildId, gameId, serverId, silentSince],
  );
}

/**
 * Inserts a staff session, or returns the open session of the user on the same server and stores `now` as its last
 * heartbeat.
 */
export async function openSession(on: Queryable, session: NewSession, now: Date): Promise<Session> {
  const [opened] = await on.query<Session>(
    `INSERT INTO activity.sessions
       (guild_id, session_id, game_id, game_username, place_id, server_id, started_at, beat_at, check_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $7, ${lapseOf('$7::timestamptz')})
     ON CONFLICT (guild_id, game_id, server_id) WHERE ended_at IS NULL
       DO UPDATE SET beat_at = greatest(sessions.beat_at, excluded.beat_at),
         check_at = coalesce(sessions.check_at, excluded.check_at)
     RETURNING ${SESSION}`,
    [session.guildId, session.sessionId, session.gameId, session.gameUsername, session.placeId, session.serverId, now],
  );
  if (!opened) throw new Error('a session was neither inserted nor found');
  return opened;
}

/**
 * Stores heartbeats of the staff sessions on a game server in one statement, and returns the IDs of the sessions that
 * are open.
 */
export async function beatSessions(
  on: Queryable,
  { guildId, serverId }: { guildId: string; serverId: string },
  beats: readonly { sessionId: string; idleSeconds: number }[],
  silentSince: Date,
  now: Date,
): Promise<string[]> {
  const active = await on.query<{ sessionId: string }>(
    `WITH beat AS (
       SELECT given.session_id, idle, ${lapseOf('$6::timestamptz')} AS lapse FROM unnest($3::uuid[], $4::bigint[]) AS given (session_id, idle)
       JOIN activity.sessions ON sessions.guild_id = $1 AND sessions.session_id = given.session_id
       WHERE server_id = $2 AND ended_at IS NULL AND beat_at >= $5
       ORDER BY given.session_id FOR UPDATE OF sessions
     )
     UPDATE activity.sessions SET beat_at = greatest(beat_at, $6), idle_seconds = greatest(idle_seconds, idle),
       check_at = coalesce(check_at, lapse)
     FROM beat WHERE guild_id = $1 AND sessions.session_id = beat.session_id
     RETURNING sessions.session_id AS "sessionId"`,
    [
      guildId,
      serverId,
      beats.map(({ sessionId }) => sessionId),
      beats.map(({ idleSeconds }) => idleSeconds),
      silentSince,
      now,
    ],
  );
  return active.map(({ sessionId }) => sessionId);
}

/**
 * Ends a staff session now, or as of its last heartbeat if the last heartbeat was before `silentSince`. A session that
 * has ended before does not change. Returns undefined if the guild has no such session.
 */
export async function endSession(
  on: Queryable,
  guildId: string,
  sessionId: string,
  reason: string | undefined,
  silentSince: Date,
  now: Date,
): Promise<EndedSession | undefined> {
  const [ended] = await on.query<EndedSession>(
    `WITH found AS (
       SELECT ended_at FROM activity.sessions WHERE guild_id = $1 AND session_id = $2 FOR UPDATE
     )
     UPDATE activity.sessions SET
       end_reason = CASE WHEN found.ended_at IS NOT NULL THEN end_reason
         WHEN beat_at < $4 THEN 'missed beats' ELSE $3 END,
       ended_at = coalesce(found.ended_at, CASE WHEN beat_at < $4 THEN beat_at ELSE greatest(beat_at, $5) END)
     FROM found WHERE guild_id = $1 AND session_id = $2
     RETURNING ${SESSION}, found.ended_at IS NULL AS "isNew"`,
    [guildId, sessionId, reason, silentSince, now],
  );
  return ended;
}

/**
 * The seconds of the sessions that one call of endSilent checks, unless a single session is longer: the triggers that count
 * ended sessions take up to a millisecond for each day of a session, and all of them must fit into the statement timeout.
 */
const MAX_CHECKED_SECONDS = 500 * 86_400;

const CHECK_SILENT = guildStatement(
  4,
  (andGuild) => `WITH due AS MATERIALIZED (
       SELECT guild_id, session_id, beat_at - started_at AS length, check_at, ${lapseOf('beat_at')} AS lapse
       FROM activity.sessions
       WHERE ended_at IS NULL AND check_at IS NOT NULL AND check_at <= $2 ${andGuild('sessions')}
       ORDER BY check_at LIMIT $3 FOR UPDATE SKIP LOCKED
     ), chosen AS (
       SELECT guild_id, session_id, lapse FROM (
         SELECT guild_id, session_id, lapse, sum(length) OVER
           (ORDER BY check_at, guild_id, session_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS length_before
         FROM due
       ) AS measured WHERE length_before IS NULL OR length_before <= $4 * interval '1 second'
     ), sessions AS (
       UPDATE activity.sessions SET ended_at = CASE WHEN beat_at < $1 THEN beat_at END,
         end_reason = CASE WHEN beat_at < $1 THEN 'missed beats' END, check_at = lapse
       FROM chosen WHERE sessions.guild_id = chosen.guild_id AND sessions.session_id = chosen.session_id
         ${andGuild('sessions')} RETURNING sessions.*
     )
     SELECT ${SESSION}, (SELECT count(*) FROM due)::int AS due FROM sessions ORDER BY ended_at, guild_id, session_id`,
);

/**
 * Checks up to `limit` open sessions whose next check is due, the most overdue first; fewer if they are very long. A session without
 * a heartbeat since `silentSince` ends at the time of its last heartbeat. For the others the time of the next check is set. Returns the
 * ended sessions, and whether more checks may be due.
 */
export async function endSilent(
  on: Queryable,
  silentSince: Date,
  now: Date,
  limit: number,
): Promise<{ ended: Session[]; mayFindMore: boolean }> {
  const condition = 'ended_at IS NULL AND check_at IS NOT NULL AND check_at <= $1';
  const silent = { table: 'activity.sessions', condition, order: 'check_at', values: [now], limit };
  let isCut = false;
  const checked = await inDueGuilds(on, silent, async (run) => {
    const rows = await run<Session & { due: number }>(CHECK_SILENT, [silentSince, now, limit, MAX_CHECKED_SECONDS]);
    isCut ||= rows.length < (rows[0]?.due ?? 0);
    return rows;
  });
  return {
    ended: checked.filter(({ endedAt }) => endedAt !== null),
    mayFindMore: checked.length >= limit || isCut,
  };
}

export interface SessionFilters {
  gameId?: number | undefined;
  /** Selects sessions that started from the time `from`, inclusive, up to the time `before`, exclusive. */
  from?: Date | undefined;
  before?: Date | undefined;
  /** Selects the open or the ended sessions. */
  open?: boolean | undefined;
}

/** Returns up to `limit` sessions that started before a position, the newest first. */
export function listSessions(
  on: Queryable,
  guildId: string,
  { gameId, open, from, before }: SessionFilters,
  { after, limit }: { after: TimePosition | undefined; limit: number },
): Promise<(Session & { micros: string })[]> {
  const list = new ListConditions(guildId);
  if (gameId !== undefined) list.add((value) => `game_id = ${value}`, gameId);
  if (open !== undefined) list.add(`ended_at IS ${open ? '' : 'NOT '}NULL`);
  list.addTimes('started_at', 'session_id', { from, before, after });
  return on.query(
    `SELECT ${SESSION}, ${microsOf('started_at')} AS micros FROM activity.sessions
     WHERE guild_id = $1${list.sql} ORDER BY started_at DESC, session_id DESC LIMIT ${list.parameter(limit)}`,
    list.values,
  );
}

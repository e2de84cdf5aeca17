import type { Queryable } from '#kit/postgres/pool.ts';

export interface NewSession {
  guildId: string;
  sessionId: string;
  gameId: number;
  gameUsername: string | undefined;
  placeId: number;
  serverId: string;
}

export interface EndedSession {
  startedAt: Date;
  endedAt: Date;
  idleSeconds: number;
  /** True if this call ended the session; false if the session had ended before. */
  isNew: boolean;
}

/** Ends the open staff session of a user on a server as of its last beat, if the last beat was before `silentSince`. */
export async function endLapsed(
  on: Queryable,
  { guildId, gameId, serverId }: NewSession,
  silentSince: Date,
): Promise<void> {
  await on.query(
    `UPDATE activity.sessions SET ended_at = beat_at, end_reason = 'missed beats'
     WHERE guild_id = $1 AND game_id = $2 AND server_id = $3 AND ended_at IS NULL AND beat_at < $4`,
    [guildId, gameId, serverId, silentSince],
  );
}

/**
 * Inserts a staff session, or returns the open session of the user on the same server and stores `now` as its last
 * beat.
 */
export async function openSession(
  on: Queryable,
  session: NewSession,
  now: Date,
): Promise<{ sessionId: string; startedAt: Date }> {
  const [opened] = await on.query<{ sessionId: string; startedAt: Date }>(
    `INSERT INTO activity.sessions
       (guild_id, session_id, game_id, game_username, place_id, server_id, started_at, beat_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
     ON CONFLICT (guild_id, game_id, server_id) WHERE ended_at IS NULL
       DO UPDATE SET beat_at = greatest(sessions.beat_at, excluded.beat_at)
     RETURNING session_id AS "sessionId", started_at AS "startedAt"`,
    [session.guildId, session.sessionId, session.gameId, session.gameUsername, session.placeId, session.serverId, now],
  );
  if (!opened) throw new Error('a session was neither inserted nor found');
  return opened;
}

/**
 * Stores beats of the staff sessions on a game server in one statement, and returns the IDs of the sessions that are
 * open.
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
       SELECT given.session_id, idle FROM unnest($3::uuid[], $4::bigint[]) AS given (session_id, idle)
       JOIN activity.sessions ON sessions.guild_id = $1 AND sessions.session_id = given.session_id
       WHERE server_id = $2 AND ended_at IS NULL AND beat_at >= $5
       ORDER BY given.session_id FOR UPDATE OF sessions
     )
     UPDATE activity.sessions SET beat_at = greatest(beat_at, $6), idle_seconds = greatest(idle_seconds, idle)
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
 * Ends a staff session now, or as of its last beat if the last beat was before `silentSince`. A session that has ended
 * before does not change. Returns undefined if the guild has no such session.
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
     RETURNING started_at AS "startedAt", sessions.ended_at AS "endedAt", idle_seconds AS "idleSeconds",
       found.ended_at IS NULL AS "isNew"`,
    [guildId, sessionId, reason, silentSince, now],
  );
  return ended;
}

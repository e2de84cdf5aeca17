import { type Clock, unixSeconds } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { type Answer, ok } from '#kit/http/envelope.ts';
import { type Idempotency, type RepeatableWrite, Replay, type WriteOutcome } from '#kit/postgres/idempotency.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { SESSION_RESUMED } from '#proto/rest/activity/staff.ts';
import { uuid } from '#proto/rest/schemas.ts';
import { addToDay } from '../store/daily-counts.ts';
import * as store from '../store/sessions.ts';
import type { ActivityEvents } from '../telemetry.ts';

/** Pause between the beats of a session. */
export const BEAT_SECONDS = 60;
/** Sessions that a guild may start on a day (UTC); they are kept for long. */
export const MAX_SESSIONS_PER_DAY = 100_000;
const DAY_MS = 24 * 3_600_000;
/** A session without a beat for longer than this was over at its last one. */
const SILENCE_MS = 3 * BEAT_SECONDS * 1000;

export interface SessionBeat {
  /** As the caller has it. */
  sessionId: string;
  /** In the session so far. */
  idleSeconds: number;
}

export interface SessionsOptions {
  database: Queryable;
  idempotency: Idempotency;
  clock: Clock;
  newSessionId: () => string;
  events: ActivityEvents;
}

/** How long staff is at work. Times follow from what was told alone, so that no process has to watch the sessions. */
export class Sessions {
  readonly #options: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Starts a session, or resumes the user's open one on that server. CONFLICT when too many were started today. */
  async start(
    write: RepeatableWrite,
    user: Omit<store.NewSession, 'sessionId'>,
  ): Promise<WriteOutcome<{ session_id: string; started_at: number; resumed: boolean }>> {
    const { idempotency, newSessionId, events } = this.#options;
    const session = { ...user, sessionId: newSessionId() };
    const outcome = await idempotency.inTransaction(write, async (transaction) => {
      await store.endLapsed(transaction, session, this.#silentSince());
      const { sessionId, startedAt } = await store.openSession(transaction, session, this.#now());
      const resumed = sessionId !== session.sessionId;
      if (!resumed) await this.#count(transaction, session.guildId);
      const answer = ok({ session_id: sessionId, started_at: unixSeconds(startedAt), resumed });
      return resumed ? { ...answer, status: 200, message: SESSION_RESUMED } : answer;
    });
    if (!(outcome instanceof Replay)) events.sessionStarted(session, outcome.data.resumed);
    return outcome;
  }

  /** Which of a server's sessions go on; unknown and malformed IDs are stale like sessions that are over. */
  async beat(
    server: { guildId: string; serverId: string },
    beats: readonly SessionBeat[],
  ): Promise<{ active: string[]; stale: string[] }> {
    const ids = new Map(beats.map(({ sessionId }) => [sessionId, uuid.safeParse(sessionId).data]));
    const known = new Map<string, number>();
    for (const { sessionId, idleSeconds } of beats) {
      const id = ids.get(sessionId);
      if (id !== undefined) known.set(id, Math.max(idleSeconds, known.get(id) ?? 0));
    }
    const rows = [...known].map(([sessionId, idleSeconds]) => ({ sessionId, idleSeconds }));
    const active = await store.beatSessions(this.#options.database, server, rows, this.#silentSince(), this.#now());
    const isActive = (given: string) => active.includes(ids.get(given) ?? '');
    const given = [...ids.keys()];
    return { active: given.filter(isActive), stale: given.filter((id) => !isActive(id)) };
  }

  /** Ends a session; one that is over is told as it ended. NOT_FOUND for an unknown one. */
  async end(write: RepeatableWrite, sessionId: string, reason: string | undefined): Promise<WriteOutcome<EndedView>> {
    const { idempotency, events } = this.#options;
    const { guildId } = write;
    let isNew = false;
    const outcome = await idempotency.inTransaction(write, async (transaction): Promise<Answer<EndedView>> => {
      const now = this.#now();
      const ended = await store.endSession(transaction, guildId, sessionId, reason, this.#silentSince(), now);
      if (!ended) throw new ApiError('NOT_FOUND', { message: 'No such session in this guild' });
      isNew = ended.isNew;
      return ok(endedView(sessionId, ended));
    });
    if (isNew) events.sessionEnded(guildId, sessionId);
    return outcome;
  }

  async #count(transaction: Queryable, guildId: string): Promise<void> {
    const now = this.#now();
    if (await addToDay(transaction, guildId, 'sessions', MAX_SESSIONS_PER_DAY, now)) return;
    const message = `The guild has started ${MAX_SESSIONS_PER_DAY} sessions today (UTC), which is the maximum`;
    throw new ApiError('CONFLICT', { message, retryAfter: (DAY_MS - (now.getTime() % DAY_MS)) / 1000 });
  }

  #now(): Date {
    return new Date(this.#options.clock.now());
  }

  #silentSince(): Date {
    return new Date(this.#options.clock.now() - SILENCE_MS);
  }
}

interface EndedView {
  session_id: string;
  started_at: number;
  ended_at: number;
  duration_seconds: number;
  idle_seconds: number;
}

function endedView(sessionId: string, { startedAt, endedAt, idleSeconds }: store.EndedSession): EndedView {
  const [started, ended] = [unixSeconds(startedAt), unixSeconds(endedAt)];
  return {
    session_id: sessionId,
    started_at: started,
    ended_at: ended,
    duration_seconds: ended - started,
    idle_seconds: idleSeconds,
  };
}

import { type Clock, unixSeconds } from '#kit/clock.ts';
import { dailyLimitReached } from '#kit/daily-limit.ts';
import { ApiError } from '#kit/errors.ts';
import type { EventSweep } from '#kit/events/sweeper.ts';
import { type HandlerResult, ok } from '#kit/http/envelope.ts';
import {
  type Idempotency,
  type IdempotentWrite,
  StoredResponse,
  type WriteOutcome,
} from '#kit/postgres/idempotency/idempotency.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { SESSION_RESUMED } from '#proto/rest/activity/staff.ts';
import { uuid } from '#proto/rest/schemas.ts';
import type { ActivityEvents } from '../events.ts';
import { addToDay } from '../store/daily-counts.ts';
import * as store from '../store/sessions.ts';
import type { ActivityTelemetry } from '../telemetry.ts';

/** The interval of session heartbeats, by which a game server reports the open sessions of staff on it. */
export const BEAT_SECONDS = 60;
/** The maximum number of sessions that a guild may start in a day (UTC), because they are stored for 400 days. */
export const MAX_SESSIONS_PER_DAY = 100_000;
/** The maximum number of sessions that one transaction checks for missed beats. */
const MAX_CHECKED = 200;

export interface SessionBeat {
  /** The session ID as the client sent it, which may be malformed. */
  sessionId: string;
  /** The total idle time of the session so far. */
  idleSeconds: number;
}

export interface SessionsOptions {
  database: Database;
  idempotency: Idempotency;
  clock: Clock;
  newSessionId: () => string;
  telemetry: ActivityTelemetry;
  events: ActivityEvents;
}

/**
 * Starts, continues and ends working sessions of staff members. The times of a session are computed from its stored
 * heartbeats. A session that has missed its heartbeats is ended by the next request that concerns it, or within seconds
 * by a sweep.
 */
export class Sessions {
  readonly #options: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /**
   * Starts a staff session, or resumes the open session of the user on the same server. Throws CONFLICT if the guild
   * has started too many sessions today.
   */
  async start(
    write: IdempotentWrite,
    user: Omit<store.NewSession, 'sessionId'>,
  ): Promise<WriteOutcome<{ session_id: string; started_at: number; resumed: boolean }>> {
    const { idempotency, newSessionId, telemetry, events } = this.#options;
    const session = { ...user, sessionId: newSessionId() };
    const outcome = await idempotency.inTransaction(write, async (transaction) => {
      const lapsed = await store.endLapsed(transaction, session, this.#silentSince());
      const opened = await store.openSession(transaction, session, this.#now());
      const { sessionId, startedAt } = opened;
      const resumed = sessionId !== session.sessionId;
      if (!resumed) await this.#addToDailyCount(transaction, session.guildId);
      const started = resumed ? [] : [events.sessionStarted(opened)];
      await events.record(transaction, [...lapsed.map((ended) => events.sessionEnded(ended)), ...started]);
      const response = ok({ session_id: sessionId, started_at: unixSeconds(startedAt), resumed });
      return resumed ? { ...response, status: 200, message: SESSION_RESUMED } : response;
    });
    if (!(outcome instanceof StoredResponse)) telemetry.sessionStarted(session, outcome.data.resumed);
    return outcome;
  }

  /**
   * Stores heartbeats, which keep the staff sessions of a game server open. Returns the IDs of ended and unknown
   * sessions and malformed IDs as stale.
   */
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
    const isActive = (sessionId: string) => active.includes(ids.get(sessionId) ?? '');
    const received = [...ids.keys()];
    return { active: received.filter(isActive), stale: received.filter((id) => !isActive(id)) };
  }

  /**
   * Ends a staff session. If the session has ended before, returns how it ended. Throws NOT_FOUND if the session is
   * unknown.
   */
  async end(write: IdempotentWrite, sessionId: string, reason: string | undefined): Promise<WriteOutcome<EndedView>> {
    const { idempotency, telemetry, events } = this.#options;
    const { guildId } = write;
    let isNew = false;
    const outcome = await idempotency.inTransaction(write, async (transaction): Promise<HandlerResult<EndedView>> => {
      const now = this.#now();
      const ended = await store.endSession(transaction, guildId, sessionId, reason, this.#silentSince(), now);
      if (!ended) throw new ApiError('NOT_FOUND', { message: 'No such session in this guild' });
      isNew = ended.isNew;
      if (isNew) await events.record(transaction, [events.sessionEnded(ended)]);
      return ok(endedView(sessionId, ended));
    });
    if (isNew) telemetry.sessionEnded(guildId, sessionId);
    return outcome;
  }

  /** Returns the sweep that ends open sessions which have missed their heartbeats. */
  silentSessionsSweep(): EventSweep {
    const { database, telemetry, events } = this.#options;
    return {
      name: 'silent staff sessions',
      sweep: async () => {
        const { ended, mayFindMore } = await database.transaction(async (transaction) => {
          const found = await store.endSilent(transaction, this.#silentSince(), this.#now(), MAX_CHECKED);
          await events.record(
            transaction,
            found.ended.map((session) => events.sessionEnded(session)),
          );
          return found;
        });
        for (const { guildId, sessionId } of ended) telemetry.sessionLapsed(guildId, sessionId);
        return mayFindMore;
      },
    };
  }

  async #addToDailyCount(transaction: Queryable, guildId: string): Promise<void> {
    const now = this.#now();
    if (await addToDay(transaction, guildId, 'sessions', MAX_SESSIONS_PER_DAY, now)) return;
    const message = `The guild has started ${MAX_SESSIONS_PER_DAY} sessions today (UTC), which is the maximum`;
    throw dailyLimitReached(message, now.getTime());
  }

  #now(): Date {
    return new Date(this.#options.clock.now());
  }

  #silentSince(): Date {
    return new Date(this.#options.clock.now() - store.SILENCE_SECONDS * 1000);
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

import type { Clock } from '#kit/clock.ts';
import { ApiError, quotaExceeded } from '#kit/errors.ts';
import { type Answer, ok } from '#kit/http/envelope.ts';
import { type Idempotency, type RepeatableWrite, Replay, type WriteOutcome } from '#kit/postgres/idempotency.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { ACTION_REPEATED } from '#proto/rest/activity/staff.ts';
import { addToDay } from '../store/daily-counts.ts';
import * as store from '../store/staff.ts';
import type { ActivityEvents } from '../telemetry.ts';
import type { Intervals } from './intervals.ts';
import { PERMISSION_CACHE_SECONDS } from './permissions.ts';
import { BEAT_SECONDS } from './sessions.ts';

/** Places that a guild can have registered. */
const MOST_GAMES = 1_000;

export interface StaffOptions {
  idempotency: Idempotency;
  clock: Clock;
  intervals: Intervals;
  events: ActivityEvents;
  /** Actions that a guild may log on a day (UTC). */
  maxActionsPerDay: number;
}

/** Registered games, and what staff does in them. */
export class Staff {
  readonly #options: StaffOptions;

  constructor(options: StaffOptions) {
    this.#options = options;
  }

  /** Registers a place of a game, or writes it anew; CONFLICT when the guild has 1,000 others. */
  async register(write: RepeatableWrite, game: store.Game) {
    const { idempotency, clock, intervals, events } = this.#options;
    const { guildId } = write;
    // Before the transaction, which would hold a connection while it waits for another.
    const interval = await intervals.of(guildId);
    const outcome = await idempotency.inTransaction(write, async (transaction) => {
      const now = new Date(clock.now());
      const known = await store.updateGame(transaction, guildId, game, now);
      const { id, created } = known ? { id: known, created: false } : await addGame(transaction, guildId, game, now);
      return ok({ registration_id: id, created, config: configOf(interval) });
    });
    if (!(outcome instanceof Replay)) events.gameRegistered(guildId, game);
    return outcome;
  }

  /**
   * Logs what a staff member did; the same action again is not logged twice. `occurredAt` is now when left out.
   * QUOTA_EXCEEDED for a new action when the guild has logged as many today as it may.
   */
  async logAction(
    write: RepeatableWrite,
    action: Omit<store.Action, 'occurredAt'>,
    occurredAt: Date | undefined,
  ): Promise<WriteOutcome<{ id: string }>> {
    const { idempotency, clock, events, maxActionsPerDay: max } = this.#options;
    const now = new Date(clock.now());
    const logged = { ...action, occurredAt: occurredAt ?? now };
    let isNew = false;
    const outcome = await idempotency.inTransaction(write, async (transaction): Promise<Answer<{ id: string }>> => {
      isNew = await store.insertAction(transaction, write.guildId, logged, now);
      if (isNew && !(await addToDay(transaction, write.guildId, 'actions', max, now))) {
        const message = `The guild has logged ${max} staff actions today (UTC), which is the maximum`;
        events.quotaExceeded(write.guildId, 'staff_actions_per_day');
        throw quotaExceeded('staff_actions_per_day', max, message);
      }
      const answer = ok({ id: action.actionId });
      return isNew ? answer : { ...answer, status: 200, message: ACTION_REPEATED };
    });
    if (!(outcome instanceof Replay)) events.actionLogged(write.guildId, logged, isNew);
    return outcome;
  }
}

/** Registers a place that was not registered a moment ago. */
async function addGame(transaction: Queryable, guildId: string, game: store.Game, now: Date) {
  await store.lockGames(transaction, guildId);
  // Somebody may have added it until the lock was there.
  const known = await store.updateGame(transaction, guildId, game, now);
  if (known) return { id: known, created: false };
  if ((await store.countGames(transaction, guildId)) >= MOST_GAMES) {
    throw new ApiError('CONFLICT', { message: `The guild has ${MOST_GAMES} registered places, the most that it can` });
  }
  return { id: await store.insertGame(transaction, guildId, game, now), created: true };
}

const configOf = (interval: number) => ({
  server_heartbeat_seconds: interval,
  staff_heartbeat_seconds: BEAT_SECONDS,
  poll_seconds: interval,
  permission_cache_seconds: PERMISSION_CACHE_SECONDS,
});

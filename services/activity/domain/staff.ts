import type { Clock } from '#kit/clock.ts';
import { ApiError, quotaExceeded } from '#kit/errors.ts';
import { type HandlerResult, ok } from '#kit/http/envelope.ts';
import {
  type Idempotency,
  type IdempotentWrite,
  StoredResponse,
  type WriteOutcome,
} from '#kit/postgres/idempotency/idempotency.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { ACTION_REPEATED } from '#proto/rest/activity/staff.ts';
import type { ActivityEvents } from '../events.ts';
import { addToDay } from '../store/daily-counts.ts';
import * as store from '../store/staff.ts';
import type { ActivityTelemetry } from '../telemetry.ts';
import type { Intervals } from './intervals.ts';
import { PERMISSION_CACHE_SECONDS } from './permissions.ts';
import { BEAT_SECONDS } from './sessions.ts';

/** The maximum number of registered places of a guild. */
const MAX_GAMES = 1_000;

export interface StaffOptions {
  idempotency: Idempotency;
  clock: Clock;
  intervals: Intervals;
  telemetry: ActivityTelemetry;
  events: ActivityEvents;
  /** The maximum number of staff actions that a guild may log in a day (UTC). */
  maxActionsPerDay: number;
}

/** Registers places of games, and logs the actions of staff members in them. */
export class Staff {
  readonly #options: StaffOptions;

  constructor(options: StaffOptions) {
    this.#options = options;
  }

  /** Registers a place of a game, or updates its registration. Throws CONFLICT if the guild has 1,000 other places. */
  async register(write: IdempotentWrite, game: store.Game) {
    const { idempotency, clock, intervals, telemetry } = this.#options;
    const { guildId } = write;
    // The interval is read before the transaction, because a read within it would hold one connection while waiting for
    // another.
    const interval = await intervals.read(guildId);
    const outcome = await idempotency.inTransaction(write, async (transaction) => {
      const now = new Date(clock.now());
      const known = await store.updateGame(transaction, guildId, game, now);
      const { id, created } = known ? { id: known, created: false } : await addGame(transaction, guildId, game, now);
      return ok({ registration_id: id, created, config: configView(interval) });
    });
    if (!(outcome instanceof StoredResponse)) telemetry.gameRegistered(guildId, game);
    return outcome;
  }

  /**
   * Logs an action of a staff member; a repeat with the same ID is not logged twice. `occurredAt` defaults to now.
   * Throws QUOTA_EXCEEDED if the action is new and the guild has reached its maximum for today.
   */
  async logAction(
    write: IdempotentWrite,
    action: Omit<store.Action, 'occurredAt'>,
    occurredAt: Date | undefined,
  ): Promise<WriteOutcome<{ id: string }>> {
    const { idempotency, clock, telemetry, events, maxActionsPerDay: max } = this.#options;
    const now = new Date(clock.now());
    const logged = { ...action, occurredAt: occurredAt ?? now };
    let isNew = false;
    const outcome = await idempotency.inTransaction(
      write,
      async (transaction): Promise<HandlerResult<{ id: string }>> => {
        isNew = await store.insertAction(transaction, write.guildId, logged, now);
        if (isNew && !(await addToDay(transaction, write.guildId, 'actions', max, now))) {
          const message = `The guild has logged ${max} staff actions today (UTC), which is the maximum`;
          telemetry.quotaExceeded(write.guildId, 'staff_actions_per_day');
          throw quotaExceeded('staff_actions_per_day', max, message);
        }
        if (isNew) await events.record(transaction, [events.staffAction(write.guildId, logged, now)]);
        const response = ok({ id: action.actionId });
        return isNew ? response : { ...response, status: 200, message: ACTION_REPEATED };
      },
    );
    if (!(outcome instanceof StoredResponse)) telemetry.actionLogged(write.guildId, logged, isNew);
    return outcome;
  }
}

/** Adds a place of a game that was not registered when the caller checked. */
async function addGame(transaction: Queryable, guildId: string, game: store.Game, now: Date) {
  await store.lockGames(transaction, guildId);
  // Another request may have added the place before this transaction got the lock.
  const known = await store.updateGame(transaction, guildId, game, now);
  if (known) return { id: known, created: false };
  if ((await store.countGames(transaction, guildId)) >= MAX_GAMES) {
    throw new ApiError('CONFLICT', {
      message: `The guild has ${MAX_GAMES} registered places, which is the maximum`,
    });
  }
  return { id: await store.insertGame(transaction, guildId, game, now), created: true };
}

const configView = (interval: number) => ({
  server_heartbeat_seconds: interval,
  staff_heartbeat_seconds: BEAT_SECONDS,
  poll_seconds: interval,
  permission_cache_seconds: PERMISSION_CACHE_SECONDS,
});

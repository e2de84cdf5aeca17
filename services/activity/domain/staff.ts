import type { Clock } from '#kit/clock.ts';
import { type Answer, ok } from '#kit/envelope.ts';
import type { Idempotency, RepeatableWrite, WriteOutcome } from '#kit/idempotency.ts';
import { ACTION_REPEATED } from '#proto/rest/activity/staff.ts';
import type { ActivityEvents } from '../events.ts';
import * as store from '../store/staff.ts';
import type { Intervals } from './intervals.ts';
import { PERMISSION_CACHE_SECONDS } from './permissions.ts';
import { BEAT_SECONDS } from './sessions.ts';

export interface StaffOptions {
  idempotency: Idempotency;
  clock: Clock;
  intervals: Intervals;
  events: ActivityEvents;
}

/** Registered games, and what staff does in them. */
export class Staff {
  readonly #options: StaffOptions;

  constructor(options: StaffOptions) {
    this.#options = options;
  }

  /** Registers a place of a game, or writes it anew. */
  async register(write: RepeatableWrite, game: store.Game) {
    const { idempotency, clock, intervals, events } = this.#options;
    const { guildId } = write;
    // Before the transaction, which would hold a connection while it waits for another.
    const interval = await intervals.of(guildId);
    return idempotency.inTransaction(write, async (transaction) => {
      const now = new Date(clock.now());
      const created = await store.insertGame(transaction, guildId, game, now);
      const id = created ?? (await store.updateGame(transaction, guildId, game, now));
      events.gameRegistered(guildId, game);
      return ok({ registration_id: id, created: created !== undefined, config: configOf(interval) });
    });
  }

  /** Logs what a staff member did; the same action again is not logged twice. `occurredAt` is now when left out. */
  logAction(
    write: RepeatableWrite,
    action: Omit<store.Action, 'occurredAt'>,
    occurredAt: Date | undefined,
  ): Promise<WriteOutcome<{ id: string }>> {
    const { idempotency, clock, events } = this.#options;
    return idempotency.inTransaction(write, async (transaction): Promise<Answer<{ id: string }>> => {
      const now = new Date(clock.now());
      const logged = { ...action, occurredAt: occurredAt ?? now };
      const isNew = await store.insertAction(transaction, write.guildId, logged, now);
      events.actionLogged(write.guildId, logged, isNew);
      const answer = ok({ id: action.actionId });
      return isNew ? answer : { ...answer, status: 200, message: ACTION_REPEATED };
    });
  }
}

const configOf = (interval: number) => ({
  server_heartbeat_seconds: interval,
  staff_heartbeat_seconds: BEAT_SECONDS,
  poll_seconds: interval,
  permission_cache_seconds: PERMISSION_CACHE_SECONDS,
});

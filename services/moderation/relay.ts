import type { Clock } from '#kit/clock.ts';
import { asApiError, isFault } from '#kit/errors.ts';
import type { Part } from '#kit/lifecycle.ts';
import type { Queryable } from '#kit/postgres.ts';
import type { ModerationEvents } from './events.ts';
import type { Event } from './store/outbox.ts';
import * as store from './store/outbox.ts';

/** What other replicas have left behind is found within this. */
const LOOK_EVERY_MS = 1_000;
/** Heads of guilds' queues that are looked at together. */
const LOOK_AT = 100;
/** Guilds that are delivered for at once. */
const MOST_GUILDS = 8;
/** How long other replicas leave a guild alone; longer than a delivery may take. */
const LEASE_MS = 5_000;
/** A delivery that begins later after the lease was asked for might end after it. */
const LATEST_START_MS = 1_500;
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 5_000;

export interface RelayOptions {
  database: Queryable;
  clock: Clock;
  /** Hands an event over; the same one again changes nothing. */
  deliver: (event: Event) => Promise<unknown>;
  events: ModerationEvents;
}

/**
 * Delivers what the outbox holds, in order for each guild: only a guild's oldest event is ever taken, and while one
 * replica has it the guild's others wait. A guild whose deliveries fail holds up no other.
 */
export class Relay implements Part {
  readonly name = 'relay';
  readonly #options: RelayOptions;
  /** By guild, what is under way. */
  readonly #active = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isWanted = false;
  /** A guild that had something due was busy. */
  #isPassedOver = false;
  #isStopped = false;
  /** When the oldest decision was taken that the last looks found undelivered. */
  #oldestAt: number | undefined;
  /** Grows while activity can not be reached. */
  #pauseMs = 0;
  #isPaused = false;

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  /** For how many milliseconds the oldest decision waits; 0 when none does. */
  get oldestWaitMs(): number {
    return this.#oldestAt === undefined ? 0 : Math.max(0, this.#options.clock.now() - this.#oldestAt);
  }

  async start(): Promise<void> {
    this.wake();
  }

  async drain(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
    await Promise.all(this.#active.values());
  }

  /** There may be something to deliver. */
  wake(): void {
    this.#isWanted = true;
    if (this.#isStopped || this.#isPaused) return;
    this.#looking ??= this.#look();
  }

  async #look(): Promise<void> {
    clearTimeout(this.#timer);
    try {
      while (this.#isWanted && !this.#isPaused && !this.#isStopped) {
        this.#isWanted = false;
        await this.#startDue();
      }
    } catch (error) {
      this.#options.events.relayFailed(error);
    }
    this.#looking = undefined;
    if (!this.#isPaused) this.#lookAgainIn(LOOK_EVERY_MS);
  }

  #lookAgainIn(milliseconds: number): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#isPaused = false;
      this.wake();
    }, milliseconds).unref();
  }

  /** Starts every guild whose head is due, a few at a time. */
  async #startDue(): Promise<void> {
    const { database, clock } = this.#options;
    let oldestAt: number | undefined;
    for (let heads = LOOK_AT, after = ''; heads === LOOK_AT; ) {
      const found = await store.findHeads(database, after, new Date(clock.now()), LOOK_AT);
      oldestAt = earliest(oldestAt, ...found.map(({ createdAt }) => createdAt.getTime()));
      this.#oldestAt = earliest(this.#oldestAt, oldestAt);
      for (const { guildId, isDue } of found) {
        if (!isDue) continue;
        if (this.#active.has(guildId)) this.#isPassedOver = true;
        else await this.#beginWhenFree(guildId);
        if (this.#isStopped || this.#isPaused) return;
      }
      heads = found.length;
      after = found.at(-1)?.guildId ?? after;
    }
    // Only who has seen all knows that what was the oldest is delivered.
    this.#oldestAt = oldestAt;
  }

  async #beginWhenFree(guildId: string): Promise<void> {
    while (this.#active.size >= MOST_GUILDS) await Promise.race(this.#active.values());
    if (!this.#isStopped && !this.#isPaused) this.#begin(guildId);
  }

  #begin(guildId: string): void {
    const delivering = this.#deliverAll(guildId)
      .catch((error: unknown) => this.#options.events.relayFailed(error))
      .finally(() => {
        this.#active.delete(guildId);
        if (!this.#isPassedOver) return;
        this.#isPassedOver = false;
        this.wake();
      });
    this.#active.set(guildId, delivering);
  }

  /** Delivers a guild's events until there are none, or one fails. */
  async #deliverAll(guildId: string): Promise<void> {
    const { database, clock } = this.#options;
    while (!this.#isStopped) {
      const now = clock.now();
      const event = await store.takeHead(database, guildId, new Date(now), new Date(now + LEASE_MS));
      // A slow database: another replica may soon be delivering the guild's next events. It is found again then.
      if (!event || clock.now() - now > LATEST_START_MS) return;
      if (!(await this.#deliver(event))) return;
    }
  }

  /** False when it has to be tried again later. */
  async #deliver(event: Event): Promise<boolean> {
    const { database, clock, deliver, events } = this.#options;
    const { guildId, logId } = event;
    try {
      await deliver(event);
      this.#pauseMs = 0;
      events.delivered(event, clock.now() - event.createdAt.getTime());
    } catch (error) {
      if (isFault(asApiError(error))) {
        await this.#postpone(event, error);
        return false;
      }
      events.deliveryRefused(event, error);
    }
    await store.markDelivered(database, guildId, logId, new Date(clock.now()));
    return true;
  }

  async #postpone(event: Event, error: unknown): Promise<void> {
    const { database, clock, events } = this.#options;
    events.notDelivered(event, error);
    if (['UNAVAILABLE', 'TIMEOUT'].includes(asApiError(error).code)) this.#pause();
    const until = new Date(clock.now() + retryAfter(event.failures));
    await store.postpone(database, event.guildId, event.logId, until);
  }

  /** It may be activity itself: no other guild is begun for a moment. */
  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#pauseMs = Math.min(Math.max(2 * this.#pauseMs, FIRST_RETRY_MS), LONGEST_RETRY_MS);
    this.#lookAgainIn(this.#pauseMs);
  }
}

const earliest = (...times: (number | undefined)[]) =>
  times.reduce(
    (first, time) => (first === undefined || (time !== undefined && time < first) ? time : first),
    undefined,
  );

const retryAfter = (failures: number) => Math.min(FIRST_RETRY_MS * 2 ** Math.min(failures, 10), LONGEST_RETRY_MS);

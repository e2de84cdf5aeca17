import { setTimeout as wait } from 'node:timers/promises';
import type { Part } from '#kit/service/lifecycle.ts';
import { claimRetries, findRetryGuilds } from '../../store/parked.ts';
import { claimDue, findDueGuilds, type GuildSlots } from '../../store/turns.ts';
import { Drain, type DrainOptions } from './drain.ts';
import { Lane, type Place } from './lane.ts';
import { sendParked } from './retries.ts';

/** Milliseconds between two searches for due endpoints; up to half of it is random. */
const POLL_MS = 1_000;
/** The maximum number of guilds that a search returns, and that wait for a slot. */
const PAGE = 200;
const MAX_WAITING = 10_000;
const FAST = { max: 64, maxPerGuild: 8 };
const SLOW = { max: 96, maxPerGuild: 4 };
/** The maximum number of slots of one guild in both lanes: a move to the slow lane may exceed its maximum per guild. */
const MAX_PER_GUILD = FAST.maxPerGuild + SLOW.maxPerGuild;
/** The maximum time in milliseconds for which a stop waits for attempts; their events are sent again later. */
const DRAIN_MS = 5_000;

/** What the scheduler reports: failures, and the number of slots in use of each lane. */
export interface SchedulerTelemetry {
  failed(error: unknown, work: string): void;
  lanes(lanes: Readonly<Record<string, Lane>>): void;
}

export type SchedulerOptions = Omit<DrainOptions, 'isStopping'> & { telemetry: SchedulerTelemetry };

/** Sends events to an endpoint. Returns true if the endpoint is due for another turn. */
type Turn = (becameSlow: () => void) => Promise<boolean>;

/**
 * Decides to which endpoints this process sends events. It has three concurrency limits (lanes): for endpoints in
 * general, for endpoints that were slow or failed at their last attempt, and for retries. Slow endpoints therefore do
 * not delay the others. An endpoint that becomes slow is moved to the slow lane.
 */
export class DeliveryScheduler implements Part {
  readonly name = 'webhook deliveries';
  readonly #options: SchedulerOptions;
  readonly #drainOptions: DrainOptions;
  readonly #fast = new Lane(FAST);
  readonly #slow = new Lane(SLOW);
  readonly #retries = new Lane({ max: 96, maxPerGuild: 4 });
  /** The guilds that may have due endpoints for the fast lane. */
  readonly #waiting = new Set<string>();
  readonly #inFlight = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  /** The last guilds that searches returned; the next search continues after them. */
  readonly #reached = { fast: '', slow: '' };
  #dispatching: Promise<void> | undefined;
  #polling: Promise<void> = Promise.resolve();

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#drainOptions = { ...options, isStopping: () => this.#stopping.signal.aborted };
    options.telemetry.lanes({ fast: this.#fast, slow: this.#slow, retries: this.#retries });
  }

  async start(): Promise<void> {
    this.#polling = this.#pollUntilStopped();
  }

  /** Sends the due events of some guilds soon. */
  wake(guildIds: readonly string[]): void {
    if (this.#stopping.signal.aborted) return;
    for (const guildId of guildIds) if (this.#waiting.size < MAX_WAITING) this.#waiting.add(guildId);
    this.#dispatching ??= this.#dispatch().finally(() => {
      this.#dispatching = undefined;
      // Guilds that were woken after the last look at the waiting ones.
      if (this.#waiting.size > 0 && this.#fast.free > 0) this.wake([]);
    });
  }

  async drain(): Promise<void> {
    this.#stopping.abort();
    await this.#polling;
    await this.#dispatching;
    await Promise.race([Promise.all(this.#inFlight), wait(DRAIN_MS, undefined, { ref: false })]);
  }

  /** Claims due endpoints of the waiting guilds while the fast lane has free slots. */
  async #dispatch(): Promise<void> {
    // Guilds that are woken while a claim is in flight share the next claim.
    for (;;) {
      const guilds = this.#takeWaiting();
      if (guilds.length === 0) return;
      await this.#claim('fast', this.#fast, guilds);
    }
  }

  #takeWaiting(): GuildSlots[] {
    const guilds: GuildSlots[] = [];
    for (const guildId of this.#waiting) {
      if (this.#stopping.signal.aborted || guilds.length >= this.#fast.free) break;
      // A guild without a free place is woken again when one of its turns ends.
      this.#waiting.delete(guildId);
      const slots = this.#fastSlotsFor(guildId);
      if (slots > 0) guilds.push({ guildId, slots });
    }
    return this.#within(guilds, this.#fast.free);
  }

  /** Returns the number of slots of the fast lane that a guild may take now. */
  #fastSlotsFor(guildId: string): number {
    const left = MAX_PER_GUILD - this.#fast.usedBy(guildId) - this.#slow.usedBy(guildId);
    return Math.max(0, Math.min(this.#fast.freeFor(guildId), left));
  }

  /** Shares `free` places among guilds, so that a claim takes no more. */
  #within(guilds: readonly GuildSlots[], free: number): GuildSlots[] {
    const share = Math.max(1, Math.floor(free / Math.max(1, guilds.length)));
    return guilds.slice(0, free).map(({ guildId, slots }) => ({ guildId, slots: Math.min(slots, share) }));
  }

  async #claim(name: 'fast' | 'slow', lane: Lane, guilds: readonly GuildSlots[]): Promise<void> {
    const { database, telemetry } = this.#options;
    try {
      const claimed = await claimDue(database, guilds, name === 'slow');
      for (const endpoint of claimed) {
        const options = { ...this.#drainOptions, endpoint };
        this.#start(lane, endpoint.guildId, (becameSlow) => new Drain({ ...options, becameSlow }).run());
      }
      if (name === 'slow') return;
      const counts = Map.groupBy(claimed, ({ guildId }) => guildId);
      for (const { guildId, slots } of guilds) {
        if (counts.get(guildId)?.length === slots) this.#waiting.add(guildId);
      }
    } catch (error) {
      telemetry.failed(error, 'claim');
    }
  }

  /**
   * Starts sending events to an endpoint, which takes a slot of the lane. It is moved to the slow lane if an attempt is
   * slow.
   */
  #start(lane: Lane, guildId: string, work: Turn): void {
    const turn = this.#run(lane, guildId, work).finally(() => this.#inFlight.delete(turn));
    this.#inFlight.add(turn);
  }

  async #run(lane: Lane, guildId: string, work: Turn): Promise<void> {
    let place: Place = lane.enter(guildId);
    const becameSlow = () => {
      if (lane !== this.#fast || this.#slow.free <= 0) return;
      place.leave();
      place = this.#slow.enter(guildId);
      this.wake([guildId]);
    };
    let isDue = false;
    try {
      isDue = await work(becameSlow);
    } catch (error) {
      // The lease ends, and then a process tries again.
      this.#options.telemetry.failed(error, 'turn');
    }
    const wasFull = this.#fastSlotsFor(guildId) === 0;
    place.leave();
    this.wake(isDue || wasFull ? [guildId] : []);
  }

  async #pollUntilStopped(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#poll();
      } catch (error) {
        this.#options.telemetry.failed(error, 'search');
      }
      await wait(POLL_MS * (1 - 0.5 * Math.random()), undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #poll(): Promise<void> {
    this.wake(await this.#findDue('fast', this.#fast));
    if (this.#slow.free > 0) {
      const guilds = this.#slotsOf(this.#slow, await this.#findDue('slow', this.#slow));
      if (guilds.length > 0) await this.#claim('slow', this.#slow, guilds);
    }
    if (this.#retries.free > 0) await this.#startRetries();
  }

  async #findDue(name: 'fast' | 'slow', lane: Lane): Promise<string[]> {
    const search = { isSlow: name === 'slow', after: this.#reached[name], except: lane.fullGuilds, limit: PAGE };
    const guilds = await findDueGuilds(this.#options.database, search);
    this.#reached[name] = guilds.length === PAGE ? (guilds.at(-1) ?? '') : '';
    return guilds;
  }

  async #startRetries(): Promise<void> {
    const { database } = this.#options;
    const guilds = this.#slotsOf(this.#retries, await findRetryGuilds(database, this.#retries.fullGuilds, PAGE));
    if (guilds.length === 0) return;
    for (const endpoint of await claimRetries(database, guilds)) {
      this.#start(this.#retries, endpoint.guildId, (becameSlow) =>
        sendParked(endpoint, becameSlow, this.#drainOptions),
      );
    }
  }

  #slotsOf(lane: Lane, guildIds: readonly string[]): GuildSlots[] {
    const guilds = guildIds.map((guildId) => ({ guildId, slots: lane.freeFor(guildId) }));
    return this.#within(
      guilds.filter(({ slots }) => slots > 0),
      lane.free,
    );
  }
}

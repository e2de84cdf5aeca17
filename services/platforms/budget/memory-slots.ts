import { performance } from 'node:perf_hooks';
import { PURPOSES } from '#kit/context.ts';
import {
  type Allowance,
  assuredOf,
  CALLING_MS,
  type Caller,
  type CallerName,
  type CallSlots,
  leaseOf,
  MAX_WAIT_MS,
  releaseDelayOf,
  reserveOf,
  shareOf,
} from './slots.ts';

interface WaitingCaller extends Caller {
  /** The round in which the caller gets a slot; each guild may make one call in each round. */
  round: number;
  arrival: number;
  /** The caller is removed from the queue if it has not tried again by this time. */
  expiresAt: number;
}

/** An occupied slot: the guild of its call, and when the slot becomes free. */
interface OccupiedSlot {
  guildId: string;
  until: number;
}

const GRACE_MS = 1_000;
const MIN_WAIT_FOR_SHARE_MS = 100;

/**
 * Grants the slots of a call budget (our own rate limit for a platform), counted in the memory of this process alone.
 */
export class MemorySlots implements CallSlots {
  readonly #allowance: Allowance;
  readonly #now: () => number;
  /** The occupied slots by caller ID. */
  readonly #occupied = new Map<string, OccupiedSlot>();
  readonly #waiting = new Map<string, WaitingCaller>();
  /** The current round by purpose, and the next round by purpose and guild. */
  readonly #rounds = new Map<string, number>();
  /** The two guilds that called last, the latest at the end, and when. */
  readonly #guilds = new Map<string, number>();
  #arrivals = 0;

  /** `now` returns milliseconds since any fixed point in time. */
  constructor(allowance: Allowance, now = () => performance.now()) {
    this.#allowance = allowance;
    this.#now = now;
  }

  async acquire(caller: Caller): Promise<number> {
    const now = this.#now();
    this.#removeExpired(now);
    this.#noteGuild(caller.guildId, now);
    if (this.#exceedsShare(caller)) return this.#waitForShare(caller, now);
    const own = this.#enqueue(caller);
    const { slots, windowMs } = this.#allowance;
    const free = slots - this.#occupied.size - reserveOf(this.#allowance, caller.purpose);
    const rank = this.#rankOf(own);
    if (rank < free) {
      this.#waiting.delete(caller.id);
      this.occupy(caller);
      this.#rounds.set(caller.purpose, own.round);
      return 0;
    }
    const next = [...this.#occupied.values()].map(({ until }) => until).sort((left, right) => left - right)[
      rank - free
    ];
    const longest = Math.min(MAX_WAIT_MS, 100 + (windowMs * rank) / slots);
    const wait = Math.max(10, Math.min(longest, (next ?? Infinity) - now));
    own.expiresAt = now + wait + GRACE_MS;
    return wait;
  }

  async release({ id, guildId }: CallerName): Promise<void> {
    this.#waiting.delete(id);
    if (this.#occupied.has(id)) {
      this.#occupied.set(id, { guildId, until: this.#now() + releaseDelayOf(this.#allowance) });
    }
  }

  /** Occupies a slot in memory for a call that Redis has allowed. */
  occupy({ id, guildId }: CallerName): void {
    const now = this.#now();
    this.#noteGuild(guildId, now);
    this.#occupied.set(id, { guildId, until: now + leaseOf(this.#allowance) });
  }

  #noteGuild(guildId: string, now: number): void {
    if (guildId === '') return;
    this.#guilds.delete(guildId);
    this.#guilds.set(guildId, now);
    for (const [guild, at] of this.#guilds) {
      if (this.#guilds.size > 2 || at <= now - CALLING_MS) this.#guilds.delete(guild);
    }
  }

  /** True if the guild occupies as many slots as it may, as in acquire.lua. */
  #exceedsShare({ id, guildId, purpose }: Caller): boolean {
    if (assuredOf(this.#allowance) === 0 || guildId === '' || this.#guilds.size < 2) return false;
    const free = this.#allowance.slots - this.#occupied.size;
    const isAhead = (other: Caller) =>
      other.guildId === guildId && PURPOSES.indexOf(other.purpose) <= PURPOSES.indexOf(purpose);
    const queued = this.#waiting.has(id) ? 0 : [...this.#waiting.values()].filter(isAhead).length;
    return this.#placesOf(guildId).length + queued >= shareOf(this.#allowance, free, purpose);
  }

  /** Removes the caller from the queue, so that it delays no caller of another guild; returns when it tries again. */
  #waitForShare({ id, guildId }: Caller, now: number): number {
    this.#waiting.delete(id);
    const next = Math.min(...this.#placesOf(guildId).map(({ until }) => until));
    return Math.max(MIN_WAIT_FOR_SHARE_MS, Math.min(MAX_WAIT_MS, next - now));
  }

  #placesOf(guildId: string): OccupiedSlot[] {
    return [...this.#occupied.values()].filter((slot) => slot.guildId === guildId);
  }

  /**
   * Returns how many callers get a slot before this one. Stops counting where a higher rank no longer changes the wait:
   * without Redis, thousands of callers try again every two seconds, and each would count all others.
   */
  #rankOf(own: WaitingCaller): number {
    const { slots, windowMs } = this.#allowance;
    const limit = Math.ceil(slots * Math.max(1, MAX_WAIT_MS / windowMs));
    let rank = 0;
    for (const other of this.#waiting.values()) {
      if (isBefore(other, own)) rank += 1;
      if (rank === limit) break;
    }
    return rank;
  }

  #removeExpired(now: number): void {
    for (const [id, { until }] of this.#occupied) if (until <= now) this.#occupied.delete(id);
    for (const [id, { expiresAt }] of this.#waiting) if (expiresAt <= now) this.#waiting.delete(id);
  }

  #enqueue(caller: Caller): WaitingCaller {
    const known = this.#waiting.get(caller.id);
    if (known) return known;
    if (this.#waiting.size === 0) this.#rounds.clear();
    const key = `${caller.purpose}:${caller.guildId}`;
    const current = this.#rounds.get(caller.purpose) ?? 0;
    const isOfSameGuild = (other: Caller) => other.guildId === caller.guildId && other.purpose === caller.purpose;
    const before = [...this.#waiting.values()].filter(isOfSameGuild).length;
    // Rounds of callers that gave up are not counted, as in acquire.lua.
    const round = Math.max(current, Math.min(this.#rounds.get(key) ?? 0, current + before + 1));
    this.#rounds.set(key, round + 1);
    const waiting = { ...caller, round, arrival: this.#arrivals++, expiresAt: Infinity };
    this.#waiting.set(caller.id, waiting);
    return waiting;
  }
}

function isBefore(left: WaitingCaller, right: WaitingCaller): boolean {
  const byUrgency = PURPOSES.indexOf(left.purpose) - PURPOSES.indexOf(right.purpose);
  if (byUrgency !== 0) return byUrgency < 0;
  return left.round < right.round || (left.round === right.round && left.arrival < right.arrival);
}

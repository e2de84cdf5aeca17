import { performance } from 'node:perf_hooks';
import { PURPOSES } from '#kit/context.ts';
import { type Allowance, type Caller, leaseOf, MAX_WAIT_MS, reserveOf, type Turns, windowOf } from './slots.ts';

interface Waiting extends Caller {
  turn: number;
  arrival: number;
  seenUntil: number;
}

const GRACE_MS = 1_000;

/** Turns of this process alone. */
export class MemoryTurns implements Turns {
  readonly #allowance: Allowance;
  readonly #now: () => number;
  /** Until when each place is taken. */
  readonly #places = new Map<string, number>();
  readonly #waiting = new Map<string, Waiting>();
  /** By class, and by class and guild. */
  readonly #turns = new Map<string, number>();
  #arrivals = 0;

  /** `now` in milliseconds, from whenever. */
  constructor(allowance: Allowance, now = () => performance.now()) {
    this.#allowance = allowance;
    this.#now = now;
  }

  async take(caller: Caller): Promise<number> {
    const now = this.#now();
    this.#forget(now);
    const own = this.#lineUp(caller);
    const { places, windowMs } = this.#allowance;
    const free = places - this.#places.size - reserveOf(this.#allowance, caller.purpose);
    const rank = [...this.#waiting.values()].filter((other) => isBefore(other, own)).length;
    if (rank < free) {
      this.#waiting.delete(caller.id);
      this.occupy(caller.id);
      this.#turns.set(caller.purpose, own.turn);
      return 0;
    }
    const next = [...this.#places.values()].sort((left, right) => left - right)[rank - free];
    const longest = Math.min(MAX_WAIT_MS, 100 + (windowMs * rank) / places);
    const wait = Math.max(10, Math.min(longest, (next ?? Infinity) - now));
    own.seenUntil = now + wait + GRACE_MS;
    return wait;
  }

  async leave(id: string): Promise<void> {
    this.#waiting.delete(id);
    if (this.#places.has(id)) this.#places.set(id, this.#now() + windowOf(this.#allowance));
  }

  /** Another has let it through. */
  occupy(id: string): void {
    this.#places.set(id, this.#now() + leaseOf(this.#allowance));
  }

  #forget(now: number): void {
    for (const [id, until] of this.#places) if (until <= now) this.#places.delete(id);
    for (const [id, { seenUntil }] of this.#waiting) if (seenUntil <= now) this.#waiting.delete(id);
  }

  #lineUp(caller: Caller): Waiting {
    const known = this.#waiting.get(caller.id);
    if (known) return known;
    if (this.#waiting.size === 0) this.#turns.clear();
    const key = `${caller.purpose}:${caller.guildId}`;
    const turn = Math.max(this.#turns.get(caller.purpose) ?? 0, this.#turns.get(key) ?? 0);
    this.#turns.set(key, turn + 1);
    const waiting = { ...caller, turn, arrival: this.#arrivals++, seenUntil: Infinity };
    this.#waiting.set(caller.id, waiting);
    return waiting;
  }
}

function isBefore(left: Waiting, right: Waiting): boolean {
  const byUrgency = PURPOSES.indexOf(left.purpose) - PURPOSES.indexOf(right.purpose);
  if (byUrgency !== 0) return byUrgency < 0;
  return left.turn < right.turn || (left.turn === right.turn && left.arrival < right.arrival);
}

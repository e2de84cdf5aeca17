import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { dropOldest } from '#kit/resilience/bounded.ts';
import { orError } from './responses.ts';

/** Calls for one batch, the first one included. One rejected account of 50 takes 13 of them, two at most 23. */
const MAX_CALLS = 25;
/** In a larger batch of which every part is rejected, it is not the accounts that are wrong. */
const MAX_ALL_REJECTED = 4;
/** After such a batch none is divided for so long. */
const PAUSE_MS = 60_000;
/** How long the platform is not asked about an account again that it rejected. */
const REJECTED_MS = 600_000;
const MAX_REJECTED = 10_000;

/** What a platform tells of an account, why it tells nothing, or that it rejects calls which name the account. */
export type Told<Value> = Value | ApiError | 'rejected';
/** One call about several accounts, which as a whole may be rejected because of one of them. */
export type BatchCall<Value> = (ids: readonly number[]) => Promise<ReadonlyMap<number, Value> | 'rejected'>;

/** Finds the accounts because of which a platform rejects a batch, so that the others are told all the same. */
export class Bisection<Value> {
  readonly #call: BatchCall<Value>;
  readonly #clock: Clock;
  /** By account, until when it counts as rejected. */
  readonly #rejected = new Map<number, number>();
  #pausedUntil = 0;

  constructor(call: BatchCall<Value>, clock: Clock) {
    this.#call = call;
    this.#clock = clock;
  }

  /** Never rejects because of the platform. */
  async load(ids: readonly number[]): Promise<Map<number, Told<Value>>> {
    const now = this.#clock.now();
    const isRejected = (id: number) => (this.#rejected.get(id) ?? 0) > now;
    const told = new Map<number, Told<Value>>(ids.filter(isRejected).map((id) => [id, 'rejected']));
    const others = ids.filter((id) => !told.has(id));
    if (others.length > 0) for (const [id, value] of await this.#divide(others)) told.set(id, value);
    return told;
  }

  async #divide(ids: readonly number[]): Promise<Map<number, Told<Value>>> {
    const told = new Map<number, Told<Value>>();
    const tell = (part: readonly number[], value: ApiError | 'rejected') => part.forEach((id) => told.set(id, value));
    let isAnyAccepted = false;
    const parts = [ids];
    for (let calls = 0, part = parts.pop(); part; part = parts.pop(), calls++) {
      const mayDivide = calls < MAX_CALLS && (part === ids || this.#clock.now() >= this.#pausedUntil);
      const outcome = mayDivide ? await orError(this.#call(part)) : notTold();
      if (outcome instanceof ApiError) tell(part, outcome);
      else if (outcome !== 'rejected') {
        isAnyAccepted = true;
        for (const [id, value] of outcome) told.set(id, value);
      } else if (part.length === 1) tell(part, 'rejected');
      else {
        const middle = Math.ceil(part.length / 2);
        parts.push(part.slice(middle), part.slice(0, middle));
      }
    }
    if (!isAnyAccepted && ids.length > MAX_ALL_REJECTED) return this.#giveUp(told);
    this.#remember(told);
    return told;
  }

  #giveUp(told: Map<number, Told<Value>>): Map<number, Told<Value>> {
    const isDivided = [...told.values()].includes('rejected');
    if (isDivided) this.#pausedUntil = this.#clock.now() + PAUSE_MS;
    for (const [id, value] of told) if (value === 'rejected') told.set(id, notTold());
    return told;
  }

  #remember(told: ReadonlyMap<number, Told<Value>>): void {
    for (const [id, value] of told) {
      this.#rejected.delete(id);
      if (value === 'rejected') this.#rejected.set(id, this.#clock.now() + REJECTED_MS);
    }
    dropOldest(this.#rejected, MAX_REJECTED);
  }
}

const notTold = () => new ApiError('PLATFORM_ERROR', { message: 'The game platform rejects a batch of accounts' });

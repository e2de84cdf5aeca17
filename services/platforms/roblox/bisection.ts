import { LRUCache } from 'lru-cache';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { maxEntries } from '#kit/resilience/max-entries.ts';
import { resultOrError } from './responses.ts';

/**
 * The maximum number of calls to divide one rejected batch. One rejected account among 50 takes 13 calls, two take at
 * most 23.
 */
const MAX_CALLS = 25;
/** If every part of a batch with more accounts than this is rejected, the accounts are not the reason. */
const MAX_ALL_REJECTED = 4;
/** How long no batch is divided, in milliseconds, after a batch of which every part was rejected. */
const PAUSE_MS = 60_000;
/** How long a rejected account is not queried again, in milliseconds. */
const REJECTED_TTL_MS = 600_000;
const MAX_REJECTED = 10_000;

/**
 * The value of an account, the error of its query, or `rejected` if the platform rejects queries that name the account.
 */
export type AccountResult<Value> = Value | ApiError | 'rejected';
/**
 * A call to the platform about several accounts. The platform rejects the whole call if it rejects one of the accounts.
 */
export type BatchCall<Value> = (ids: readonly number[]) => Promise<ReadonlyMap<number, Value> | 'rejected'>;

/**
 * Divides a rejected batch of accounts to find those that the platform rejects, so that the others still get their
 * values.
 */
export class Bisection<Value> {
  readonly #call: BatchCall<Value>;
  readonly #clock: Clock;
  /** Until when each account counts as rejected, by account ID. */
  readonly #rejected = new LRUCache<number, number>(maxEntries(MAX_REJECTED));
  #pausedUntil = 0;

  constructor(call: BatchCall<Value>, clock: Clock) {
    this.#call = call;
    this.#clock = clock;
  }

  /** Loads and returns a result for each account. Errors of the platform are among the results and are never thrown. */
  async load(ids: readonly number[]): Promise<Map<number, AccountResult<Value>>> {
    const now = this.#clock.now();
    const isRejected = (id: number) => (this.#rejected.get(id) ?? 0) > now;
    const results = new Map<number, AccountResult<Value>>(ids.filter(isRejected).map((id) => [id, 'rejected']));
    const others = ids.filter((id) => !results.has(id));
    if (others.length > 0) for (const [id, value] of await this.#divide(others)) results.set(id, value);
    return results;
  }

  async #divide(ids: readonly number[]): Promise<Map<number, AccountResult<Value>>> {
    const results = new Map<number, AccountResult<Value>>();
    const setAll = (part: readonly number[], result: ApiError | 'rejected') =>
      part.forEach((id) => results.set(id, result));
    let isAnyAccepted = false;
    const parts = [ids];
    for (let calls = 0, part = parts.pop(); part; part = parts.pop(), calls++) {
      const mayDivide = calls < MAX_CALLS && (part === ids || this.#clock.now() >= this.#pausedUntil);
      const outcome = mayDivide ? await resultOrError(this.#call(part)) : batchRejected();
      if (outcome instanceof ApiError) setAll(part, outcome);
      else if (outcome !== 'rejected') {
        isAnyAccepted = true;
        for (const [id, value] of outcome) results.set(id, value);
      } else if (part.length === 1) setAll(part, 'rejected');
      else {
        const middle = Math.ceil(part.length / 2);
        parts.push(part.slice(middle), part.slice(0, middle));
      }
    }
    if (!isAnyAccepted && ids.length > MAX_ALL_REJECTED) return this.#withoutRejected(results);
    this.#cacheRejected(results);
    return results;
  }

  /**
   * Called if every part of a batch was rejected: reports errors instead of rejected accounts, and pauses the division
   * of batches.
   */
  #withoutRejected(results: Map<number, AccountResult<Value>>): Map<number, AccountResult<Value>> {
    const isDivided = [...results.values()].includes('rejected');
    if (isDivided) this.#pausedUntil = this.#clock.now() + PAUSE_MS;
    for (const [id, result] of results) if (result === 'rejected') results.set(id, batchRejected());
    return results;
  }

  #cacheRejected(results: ReadonlyMap<number, AccountResult<Value>>): void {
    for (const [id, result] of results) {
      if (result === 'rejected') this.#rejected.set(id, this.#clock.now() + REJECTED_TTL_MS);
      else this.#rejected.delete(id);
    }
  }
}

const batchRejected = () =>
  new ApiError('PLATFORM_ERROR', { message: 'The game platform rejects a batch of accounts' });

import { dropOldest } from '#kit/resilience/bounded.ts';
import { isWithin } from './proof.ts';

const TTL_MS = 5_000;
const MAX = 10_000;

/**
 * The hashes of keys that auth has rejected a short time ago. Separate from the grants, so that a flood of invalid keys
 * cannot evict valid ones.
 */
export class Refusals {
  /** When each key was rejected, oldest first. */
  readonly #rejectedAt = new Map<string, number>();

  has(id: string, now: number): boolean {
    const rejectedAt = this.#rejectedAt.get(id);
    return rejectedAt !== undefined && isWithin(now - rejectedAt, TTL_MS);
  }

  add(id: string, now: number): void {
    this.#rejectedAt.delete(id);
    this.#rejectedAt.set(id, now);
    dropOldest(this.#rejectedAt, MAX);
  }

  delete(id: string): void {
    this.#rejectedAt.delete(id);
  }
}

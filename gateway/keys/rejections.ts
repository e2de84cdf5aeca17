import { LRUCache } from 'lru-cache';
import { maxEntries } from '#kit/resilience/max-entries.ts';
import { isWithin } from './proof.ts';

const TTL_MS = 5_000;
const MAX = 10_000;

/**
 * The hashes of API keys that the auth service has recently rejected. Stored apart from the grants, so that a flood of
 * invalid keys cannot evict valid keys.
 */
export class Rejections {
  /** When the auth service rejected each API key, in Unix milliseconds. */
  readonly #rejectedAt = new LRUCache<string, number>(maxEntries(MAX));

  has(id: string, now: number): boolean {
    const rejectedAt = this.#rejectedAt.get(id);
    return rejectedAt !== undefined && isWithin(now - rejectedAt, TTL_MS);
  }

  add(id: string, now: number): void {
    this.#rejectedAt.set(id, now);
  }

  delete(id: string): void {
    this.#rejectedAt.delete(id);
  }
}

import { dropOldest } from '#kit/resilience/bounded.ts';
import { isWithin } from './proof.ts';

const KEPT_MS = 5_000;
const MAX = 10_000;

/** Hashes that auth has just refused: apart from the grants, so that junk never pushes out a good key. */
export class Refusals {
  /** When each was refused, the oldest first. */
  readonly #refusedAt = new Map<string, number>();

  has(id: string, now: number): boolean {
    const refusedAt = this.#refusedAt.get(id);
    return refusedAt !== undefined && isWithin(now - refusedAt, KEPT_MS);
  }

  add(id: string, now: number): void {
    this.#refusedAt.delete(id);
    this.#refusedAt.set(id, now);
    dropOldest(this.#refusedAt, MAX);
  }

  drop(id: string): void {
    this.#refusedAt.delete(id);
  }
}

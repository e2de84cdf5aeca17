import { performance } from 'node:perf_hooks';

const MINUTE_MS = 60_000;
const MINUTES = 10;

/** Counts the requests of this process in the last ten minutes that the platform considers invalid. */
export class InvalidRequests {
  readonly #byMinute = new Map<number, number>();
  readonly #now: () => number;

  /** `now` returns milliseconds since any fixed point in time. */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  add(): void {
    const minute = this.#minute();
    this.#byMinute.set(minute, (this.#byMinute.get(minute) ?? 0) + 1);
    for (const past of this.#byMinute.keys()) if (past <= minute - MINUTES) this.#byMinute.delete(past);
  }

  count(): number {
    const minute = this.#minute();
    let sum = 0;
    for (const [past, count] of this.#byMinute) if (past > minute - MINUTES) sum += count;
    return sum;
  }

  #minute(): number {
    return Math.floor(this.#now() / MINUTE_MS);
  }
}

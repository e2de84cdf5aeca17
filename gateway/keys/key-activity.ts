import type { Clock } from '#kit/clock.ts';
import { REJECTIONS } from '../telemetry/rejections.ts';

/** The length of a time slice in milliseconds. Requests are counted per slice, so that old counts can be dropped. */
const SLICE_MS = 10_000;
const SLICES = 6;
/** The maximum number of API keys that are counted in one time slice. Further keys are not counted. */
const MAX_KEYS = 10_000;
/** The maximum length of each list of API keys that operators can read. */
const MAX_LISTED = 100;

/** The number of requests with one API key in the last minute. */
export interface KeyCount {
  key_id: string;
  requests: number;
  /** The number of requests with the API key whose status is one of REJECTIONS. */
  rejected: number;
}

/**
 * Lists the API keys with the most requests and with the most rejected requests of the last minute, for operators.
 * Metrics must not have API keys as labels.
 */
export class KeyActivity {
  readonly #clock: Clock;
  readonly #slices: { number: number; counts: Map<string, KeyCount> }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a request with this API key by its status in metrics. */
  count(keyId: string, status: number): void {
    const { counts } = this.#current();
    let count = counts.get(keyId);
    if (!count) {
      if (counts.size >= MAX_KEYS) return;
      count = { key_id: keyId, requests: 0, rejected: 0 };
      counts.set(keyId, count);
    }
    count.requests++;
    if (REJECTIONS.includes(status)) count.rejected++;
  }

  /**
   * Returns the 100 API keys with the most requests and the 100 with the most rejections in the last minute, highest
   * first.
   */
  top(): { window_seconds: number; busiest: KeyCount[]; rejected: KeyCount[] } {
    const oldest = this.#number() - SLICES;
    const sums = new Map<string, KeyCount>();
    for (const { counts } of this.#slices.filter(({ number }) => number > oldest)) {
      for (const { key_id, requests, rejected } of counts.values()) {
        const sum = sums.get(key_id) ?? { key_id, requests: 0, rejected: 0 };
        sums.set(key_id, { key_id, requests: sum.requests + requests, rejected: sum.rejected + rejected });
      }
    }
    const all = [...sums.values()];
    const highest = (by: 'requests' | 'rejected') =>
      all
        .filter((count) => count[by] > 0)
        .toSorted((one, other) => other[by] - one[by])
        .slice(0, MAX_LISTED);
    return { window_seconds: (SLICES * SLICE_MS) / 1000, busiest: highest('requests'), rejected: highest('rejected') };
  }

  #number(): number {
    return Math.floor(this.#clock.now() / SLICE_MS);
  }

  #current() {
    const number = this.#number();
    const last = this.#slices.at(-1);
    if (last?.number === number) return last;
    const slice = { number, counts: new Map<string, KeyCount>() };
    this.#slices.push(slice);
    if (this.#slices.length > SLICES) this.#slices.shift();
    return slice;
  }
}

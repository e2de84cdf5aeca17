import type { Clock } from '#kit/clock.ts';

const SLICE_MS = 10_000;
const SLICES = 6;
/** Keys that are counted at once; further ones are not, until a slice is over. */
const MOST_KEYS = 10_000;
/** How many keys each list tells of. */
const MOST_TOLD = 100;

/** What a key did in the last minute. */
export interface KeyCount {
  key_id: string;
  requests: number;
  /** Of these, answered with a status from 400 to 499. */
  refused: number;
}

/** Which keys are busy, and which are refused, in the last minute: for operators, who can't have it as metrics. */
export class KeyActivity {
  readonly #clock: Clock;
  readonly #slices: { number: number; counts: Map<string, KeyCount> }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes the answer to a request. */
  count(keyId: string, status: number): void {
    const { counts } = this.#current();
    let count = counts.get(keyId);
    if (!count) {
      if (counts.size >= MOST_KEYS) return;
      count = { key_id: keyId, requests: 0, refused: 0 };
      counts.set(keyId, count);
    }
    count.requests++;
    if (status >= 400 && status < 500) count.refused++;
  }

  /** The hundred busiest keys of the last minute and the hundred most refused, the first first. */
  top(): { window_seconds: number; busiest: KeyCount[]; refused: KeyCount[] } {
    const oldest = this.#number() - SLICES;
    const sums = new Map<string, KeyCount>();
    for (const { counts } of this.#slices.filter(({ number }) => number > oldest)) {
      for (const { key_id, requests, refused } of counts.values()) {
        const sum = sums.get(key_id) ?? { key_id, requests: 0, refused: 0 };
        sums.set(key_id, { key_id, requests: sum.requests + requests, refused: sum.refused + refused });
      }
    }
    const all = [...sums.values()];
    const first = (by: 'requests' | 'refused') =>
      all
        .filter((count) => count[by] > 0)
        .toSorted((one, other) => other[by] - one[by])
        .slice(0, MOST_TOLD);
    return { window_seconds: (SLICES * SLICE_MS) / 1000, busiest: first('requests'), refused: first('refused') };
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

import { ApiError } from '#kit/errors.ts';

export interface BatchesOptions<Item, Result> {
  /** Writes many at once; a result for each, in the same order. */
  write: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Of two items of one key the second goes into a later batch. */
  keyOf: (item: Item) => string;
  /** How long the first item of a batch waits for others. */
  gatherMs: number;
  mostInBatch: number;
  /** More are refused. */
  mostWaiting: number;
}

/** Of a batch that is refused and of its parts. One item at fault among 500 is found with 19, two with 35. */
const MOST_WRITES = 40;

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** Gathers what comes within a moment and writes it together; who waits is told once his own is written. */
export class Batches<Item, Result> {
  readonly #options: BatchesOptions<Item, Result>;
  #waiting: Waiting<Item, Result>[] = [];
  #isBusy = false;

  constructor(options: BatchesOptions<Item, Result>) {
    this.#options = options;
  }

  /** UNAVAILABLE when too many are waiting already. */
  add(item: Item): Promise<Result> {
    if (this.#waiting.length >= this.#options.mostWaiting) return Promise.reject(new ApiError('UNAVAILABLE'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#isBusy) this.#gather();
    });
  }

  #gather(): void {
    this.#isBusy = true;
    setTimeout(() => void this.#flush(), this.#options.gatherMs);
  }

  async #flush(): Promise<void> {
    await this.#writeAll(this.#takeBatch());
    this.#isBusy = false;
    if (this.#waiting.length > 0) this.#gather();
  }

  #takeBatch(): Waiting<Item, Result>[] {
    const batch = new Map<string, Waiting<Item, Result>>();
    const later: Waiting<Item, Result>[] = [];
    for (const waiting of this.#waiting) {
      const key = this.#options.keyOf(waiting.item);
      if (batch.size < this.#options.mostInBatch && !batch.has(key)) batch.set(key, waiting);
      else later.push(waiting);
    }
    this.#waiting = later;
    return [...batch.values()];
  }

  /** A batch that is refused is halved, and its halves likewise, until those at fault stand alone or tries run out. */
  async #writeAll(whole: Waiting<Item, Result>[]): Promise<void> {
    const parts = [whole];
    let left = MOST_WRITES;
    for (let part = parts.shift(); part; part = parts.shift()) {
      const error = await this.#write(part);
      left--;
      if (error === undefined) continue;
      const middle = Math.ceil(part.length / 2);
      // A part that is down fails all; else the fault is in one of them, and the others shall not suffer for it.
      const mayHalve = part.length > 1 && !(error instanceof ApiError) && left > parts.length + 1;
      if (mayHalve) parts.push(part.slice(0, middle), part.slice(middle));
      else for (const { reject } of part) reject(error);
    }
  }

  /** Undefined once it is written, else why it could not be. */
  async #write(batch: readonly Waiting<Item, Result>[]): Promise<unknown> {
    try {
      const results = await this.#options.write(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
      return undefined;
    } catch (error) {
      return error ?? new Error('no reason was given');
    }
  }
}

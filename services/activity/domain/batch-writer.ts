import { ApiError } from '#kit/errors.ts';

export interface BatchWriterOptions<Item, Result> {
  /** Writes a batch; returns a result for each item of the batch, in the same order. */
  write: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Returns the key of an item. A batch holds at most one item of each key; further items go into later batches. */
  keyOf: (item: Item) => string;
  /** How long, in milliseconds, the first item of a batch waits for others. */
  delayMs: number;
  maxBatchSize: number;
  /** The maximum number of items that wait for a batch; further items are rejected. */
  maxWaiting: number;
}

/**
 * The maximum number of writes for a batch and the parts into which a failed batch is split. In a batch of 500 items,
 * 19 writes isolate one faulty item, and 35 writes isolate two.
 */
const MAX_WRITES = 40;

interface WaitingItem<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** Writes items that arrive within a short time in one batch. The promise of an item settles after its write. */
export class BatchWriter<Item, Result> {
  readonly #options: BatchWriterOptions<Item, Result>;
  #waiting: WaitingItem<Item, Result>[] = [];
  #isBusy = false;

  constructor(options: BatchWriterOptions<Item, Result>) {
    this.#options = options;
  }

  /**
   * Adds an item to the next batch, and resolves with its result. Rejects with UNAVAILABLE if too many items wait
   * already.
   */
  add(item: Item): Promise<Result> {
    if (this.#waiting.length >= this.#options.maxWaiting) return Promise.reject(new ApiError('UNAVAILABLE'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#isBusy) this.#scheduleFlush();
    });
  }

  #scheduleFlush(): void {
    this.#isBusy = true;
    setTimeout(() => void this.#flush(), this.#options.delayMs);
  }

  async #flush(): Promise<void> {
    await this.#writeAll(this.#takeBatch());
    this.#isBusy = false;
    if (this.#waiting.length > 0) this.#scheduleFlush();
  }

  #takeBatch(): WaitingItem<Item, Result>[] {
    const batch = new Map<string, WaitingItem<Item, Result>>();
    const later: WaitingItem<Item, Result>[] = [];
    for (const waiting of this.#waiting) {
      const key = this.#options.keyOf(waiting.item);
      if (batch.size < this.#options.maxBatchSize && !batch.has(key)) batch.set(key, waiting);
      else later.push(waiting);
    }
    this.#waiting = later;
    return [...batch.values()];
  }

  /**
   * Writes a batch. If PostgreSQL rejects the batch, splits it into halves until each faulty item is alone or
   * MAX_WRITES is reached.
   */
  async #writeAll(batch: WaitingItem<Item, Result>[]): Promise<void> {
    const parts = [batch];
    let writesLeft = MAX_WRITES;
    for (let part = parts.shift(); part; part = parts.shift()) {
      const error = await this.#write(part);
      writesLeft--;
      if (error === undefined) continue;
      const middle = Math.ceil(part.length / 2);
      // An ApiError, such as that of an unavailable database, concerns every item. Any other error is caused by one
      // item, and the other items must not fail with it.
      const canSplit = part.length > 1 && !(error instanceof ApiError) && writesLeft > parts.length + 1;
      if (canSplit) parts.push(part.slice(0, middle), part.slice(middle));
      else for (const { reject } of part) reject(error);
    }
  }

  /** Writes a batch. Returns the error of the write, or undefined if the write succeeded. */
  async #write(batch: readonly WaitingItem<Item, Result>[]): Promise<unknown> {
    try {
      const results = await this.#options.write(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result);
      return undefined;
    } catch (error) {
      return error ?? new Error('the write failed without an error');
    }
  }
}

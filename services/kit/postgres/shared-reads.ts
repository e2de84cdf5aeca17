import { AsyncLocalStorage } from 'node:async_hooks';
import DataLoader from 'dataloader';

/** The maximum number of requests that one statement reads for, because each client waits for the whole statement. */
const MAX_BATCH = 64;
/**
 * The maximum number of shared statements at a time. Requests that arrive meanwhile share the next one: under load this
 * makes statements larger, and without load nothing waits. With two, a slow statement does not stop all others.
 */
const MAX_STATEMENTS = 2;

/**
 * Reads for several requests with one statement, which takes PostgreSQL and this process little longer than for a single
 * request. A statement is sent after its requests were received, so it sees everything that was committed before.
 */
export class SharedReads<Request, Result> {
  readonly #read: (requests: readonly Request[]) => Promise<(Result | Error)[]>;
  readonly #batch: DataLoader<Request, Result>;
  /** The number of shared statements that are being executed or about to be sent. */
  #statements = 0;
  /** Functions that send the waiting batches. */
  readonly #waiting: (() => void)[] = [];

  /**
   * `read` executes one statement (with Citus one for each guild) and returns a result for each request, in the same order; an
   * error for a request that fails alone.
   */
  constructor(read: (requests: readonly Request[]) => Promise<(Result | Error)[]>) {
    this.#read = read;
    this.#batch = new DataLoader((requests: readonly Request[]) => this.#execute(requests), {
      cache: false,
      maxBatchSize: MAX_BATCH,
      batchScheduleFn: (send) => this.#schedule(send),
    });
  }

  /** Reads for a request. Rejects with the error of the statement, which then fails for all its requests, or of the request. */
  load(request: Request): Promise<Result> {
    return this.#batch.load(request);
  }

  /** Sends a batch at the end of this turn of the event loop, or when another statement has its result. */
  #schedule(send: () => void): void {
    // A statement belongs to the trace of its first request, not to that of the statement before.
    if (this.#statements >= MAX_STATEMENTS) return void this.#waiting.push(AsyncLocalStorage.bind(send));
    this.#statements++;
    setImmediate(send);
  }

  async #execute(requests: readonly Request[]): Promise<(Result | Error)[]> {
    try {
      return await this.#read(requests);
    } finally {
      const sendNext = this.#waiting.shift();
      if (sendNext) sendNext();
      else this.#statements--;
    }
  }
}

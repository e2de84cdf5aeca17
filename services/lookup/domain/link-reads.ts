import DataLoader from 'dataloader';
import type { Queryable } from '#kit/postgres/pool.ts';
import { findLinks, type Link, type LinksRequest } from '../store/links.ts';

/** The maximum number of requests that one statement reads for, because each client waits for the whole statement. */
const MAX_BATCH = 64;
/**
 * The maximum number of shared statements at a time. Requests that arrive meanwhile share the next one: under load this
 * makes statements larger, and without load nothing waits. With two, a slow statement does not stop all others.
 */
const MAX_STATEMENTS = 2;
/** Requests for more users, such as those of jobs, have statements of their own, so that they delay no others. */
const MAX_USERS = 25;

/**
 * Reads links for several requests with one statement, which takes PostgreSQL and this process little longer than for a
 * single request. A statement is sent after its requests were received, so it sees every link that was committed before.
 */
export class LinkReads {
  readonly #database: Queryable;
  readonly #batch: DataLoader<LinksRequest, Link[]>;
  /** The number of shared statements that are being executed or about to be sent. */
  #statements = 0;
  /** Functions that send the waiting batches. */
  readonly #waiting: (() => void)[] = [];

  constructor(database: Queryable) {
    this.#database = database;
    this.#batch = new DataLoader((requests: readonly LinksRequest[]) => this.#read(requests), {
      cache: false,
      maxBatchSize: MAX_BATCH,
      batchScheduleFn: (send) => this.#schedule(send),
    });
  }

  async find(request: LinksRequest): Promise<Link[]> {
    const { chatIds = [], gameIds = [] } = request;
    if (chatIds.length + gameIds.length <= MAX_USERS) return this.#batch.load(request);
    const [links = []] = await findLinks(this.#database, [request]);
    return links;
  }

  /** Sends a batch at the end of this turn of the event loop, or when another statement has its result. */
  #schedule(send: () => void): void {
    if (this.#statements >= MAX_STATEMENTS) return void this.#waiting.push(send);
    this.#statements++;
    setImmediate(send);
  }

  async #read(requests: readonly LinksRequest[]): Promise<Link[][]> {
    try {
      return await findLinks(this.#database, requests);
    } finally {
      const sendNext = this.#waiting.shift();
      if (sendNext) sendNext();
      else this.#statements--;
    }
  }
}

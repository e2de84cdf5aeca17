import DataLoader from 'dataloader';
import type { Queryable } from '#kit/postgres/pool.ts';
import { findLinks, type Link, type LinksRequest } from '../store/links.ts';

/** The maximum number of requests that one statement reads for, because each client waits for the whole statement. */
const MAX_BATCH = 64;
/** Requests for more users, such as those of jobs, have statements of their own, so that they delay no others. */
const MAX_USERS = 25;

/**
 * Reads links for all requests of one turn of the event loop with one statement, which takes PostgreSQL and this process
 * little longer than for a single request. A read begins after its request was received, so it sees every link that
 * was committed before.
 */
export class LinkReads {
  readonly #database: Queryable;
  readonly #batch: DataLoader<LinksRequest, Link[]>;

  constructor(database: Queryable) {
    this.#database = database;
    const read = (requests: readonly LinksRequest[]) => findLinks(database, requests);
    this.#batch = new DataLoader(read, { cache: false, maxBatchSize: MAX_BATCH, batchScheduleFn: setImmediate });
  }

  async find(request: LinksRequest): Promise<Link[]> {
    const { chatIds = [], gameIds = [] } = request;
    if (chatIds.length + gameIds.length <= MAX_USERS) return this.#batch.load(request);
    const [links = []] = await findLinks(this.#database, [request]);
    return links;
  }
}

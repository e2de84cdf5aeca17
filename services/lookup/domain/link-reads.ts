import { ApiError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { SharedReads } from '#kit/postgres/shared-reads.ts';
import { findLinks, type Link, type LinksRequest } from '../store/links.ts';

/** Requests for more users, such as those of jobs, have statements of their own, so that they delay no others. */
const MAX_USERS = 25;

/** Reads links. Requests that arrive together share one statement. */
export class LinkReads {
  readonly #database: Queryable;
  readonly #shared: SharedReads<LinksRequest, Link[]>;

  constructor(database: Queryable) {
    this.#database = database;
    this.#shared = new SharedReads<LinksRequest, Link[]>((requests) => findLinks(database, requests));
  }

  async find(request: LinksRequest): Promise<Link[]> {
    const { chatIds = [], gameIds = [] } = request;
    if (chatIds.length + gameIds.length <= MAX_USERS) return this.#shared.load(request);
    const [links = []] = await findLinks(this.#database, [request]);
    if (links instanceof ApiError) throw links;
    return links;
  }
}

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Request, Response } from 'express';
import { sendBody } from '#kit/http/envelope.ts';
import type { HeaderList } from '#kit/http/response-headers.ts';
import { splitTarget } from '#kit/http/target.ts';
import type { Route } from '#proto/rest/route.ts';
import { SEARCH_PATH, Search } from '../docs/search.ts';
import { buildSite } from '../docs/site.ts';
import { openApiDocument } from '../openapi/openapi.ts';
import { documentsOf, HTML_TYPE, PAGE_HEADERS } from './documents.ts';
import { PublicDocuments } from './public-documents.ts';

/** Search results depend on the query, of which there are too many to cache. */
const SEARCH_HEADERS: Readonly<HeaderList> = ['content-type', HTML_TYPE, ...PAGE_HEADERS];

/** The number of characters of a query string that are read for a search. */
const MAX_SEARCH_QUERY = 1_000;

export interface DocumentationOptions {
  routes: readonly Route[];
  version: string;
  serverUrl: string;
}

/** The OpenAPI document and everything that is made from it: the pages of the documentation, and their search. */
export class Documentation {
  readonly #documents: PublicDocuments;
  readonly #search: Search;

  private constructor(documents: PublicDocuments, search: Search) {
    this.#documents = documents;
    this.#search = search;
  }

  /** Requests are handled between the steps, which together take some tenths of a second. */
  static async create({ routes, version, serverUrl }: DocumentationOptions): Promise<Documentation> {
    const document = openApiDocument(routes, { version, serverUrl });
    await nextTurn();
    const site = buildSite({ document, routes });
    await nextTurn();
    const documents = await PublicDocuments.create(documentsOf({ document, site }), [SEARCH_PATH]);
    return new Documentation(documents, new Search(site));
  }

  /** Sends the document or the search results that are requested. */
  send(request: Request, response: Response): void {
    this.#documents.send(request, response, () => this.#sendResults(request, response));
  }

  #sendResults(request: Request, response: Response): void {
    const { query } = splitTarget(request.originalUrl);
    const wanted = new URLSearchParams(query.slice(0, MAX_SEARCH_QUERY)).get('q') ?? '';
    sendBody(response, 200, this.#search.page(wanted), SEARCH_HEADERS);
  }
}

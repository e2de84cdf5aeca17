import type { NextFunction, Request, Response } from 'express';
import { ApiError, methodNotAllowed } from '#kit/errors.ts';
import { sendBody, successBody } from '#kit/http/envelope.ts';
import { splitTarget } from '#kit/http/target.ts';
import type { DocumentSource } from './documents.ts';
import { PublicDocument } from './public-document.ts';

const PAGES_FOLDER = '/docs/';

/** The public documents by path. They are compressed once, when they are created. */
export class PublicDocuments {
  readonly #documents: ReadonlyMap<string, PublicDocument>;
  readonly #otherPages: readonly string[];

  /** `otherPages` are paths in the folder of pages that are answered elsewhere. */
  constructor(sources: readonly DocumentSource[], otherPages: readonly string[]) {
    this.#otherPages = otherPages;
    this.#documents = new Map(
      sources.map(({ path, contentType, text, headers = [] }) => [
        path,
        new PublicDocument(text, ['content-type', contentType, ...headers]),
      ]),
    );
  }

  /**
   * True if a request for this path is answered here: for a document, a document's path with a slash behind it, and
   * every path in the folder of pages, so that the response to a misspelt page says where the pages are.
   */
  has(path: string): boolean {
    return this.#documents.has(withoutSlash(path)) || path.startsWith(PAGES_FOLDER);
  }

  /** Sends the document that is requested, and calls `next` for other paths. */
  readonly send = (request: Request, response: Response, next: NextFunction): void => {
    const { path } = splitTarget(request.originalUrl);
    if (!this.has(path)) {
      next();
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed(['GET']);
    const wanted = withoutSlash(path);
    const document = this.#documents.get(wanted);
    if (!document && !this.#otherPages.includes(wanted)) throw noSuchPage();
    if (path !== wanted) redirect(response, wanted);
    else if (document) document.send(request, response);
    else next();
  };
}

const withoutSlash = (path: string) => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);

function redirect(response: Response, location: string): void {
  sendBody(response, 301, successBody(301, 'The document has no slash at its end', { location }), [
    'location',
    location,
  ]);
}

function noSuchPage(): ApiError {
  return new ApiError('ROUTE_NOT_FOUND', { message: 'There is no such page. All pages are listed at /docs' });
}

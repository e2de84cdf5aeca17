import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Request, Response } from 'express';
import { ApiError, methodNotAllowed } from '#kit/errors.ts';
import { sendBody, successBody } from '#kit/http/envelope.ts';
import { splitTarget } from '#kit/http/target.ts';
import { isDocumentPath, withoutSlash } from './document-paths.ts';
import type { DocumentSource } from './documents.ts';
import { PublicDocument } from './public-document.ts';

/** The public documents by path. They are compressed once, when they are created. */
export class PublicDocuments {
  readonly #documents: ReadonlyMap<string, PublicDocument>;
  readonly #otherPages: readonly string[];

  private constructor(documents: ReadonlyMap<string, PublicDocument>, otherPages: readonly string[]) {
    this.#documents = documents;
    this.#otherPages = otherPages;
  }

  /**
   * Creates the documents one after another; other work is done between them. `otherPages` are paths in the folder of pages
   * that are answered elsewhere.
   */
  static async create(sources: Iterable<DocumentSource>, otherPages: readonly string[]): Promise<PublicDocuments> {
    const documents = new Map<string, PublicDocument>();
    for (const { path, contentType, text, headers = [] } of sources) {
      if (!isDocumentPath(path)) throw new Error(`the gateway would not recognise ${path} as the path of a document`);
      documents.set(path, new PublicDocument(text, ['content-type', contentType, ...headers]));
      await nextTurn();
    }
    return new PublicDocuments(documents, otherPages);
  }

  /** Sends the document that is requested; calls `sendOther` for the pages that are answered elsewhere. */
  send(request: Request, response: Response, sendOther: () => void): void {
    const { path } = splitTarget(request.originalUrl);
    if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed(['GET']);
    const wanted = withoutSlash(path);
    const document = this.#documents.get(wanted);
    if (!document && !this.#otherPages.includes(wanted)) throw noSuchPage();
    if (path !== wanted) redirect(response, wanted);
    else if (document) document.send(request, response);
    else sendOther();
  }
}

function redirect(response: Response, location: string): void {
  sendBody(response, 301, successBody(301, 'The document has no slash at its end', { location }), [
    'location',
    location,
  ]);
}

function noSuchPage(): ApiError {
  return new ApiError('ROUTE_NOT_FOUND', { message: 'There is no such page. All pages are listed at /docs' });
}

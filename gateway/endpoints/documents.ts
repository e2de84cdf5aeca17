import type { HeaderList } from '#kit/http/response-headers.ts';
import { DOCS_SECURITY_POLICY, renderPage, STYLE, STYLE_PATH } from '../docs/layout.ts';
import { llmsText } from '../docs/llms.ts';
import type { Site } from '../docs/site.ts';
import type { OpenApiDocument } from '../openapi/document.ts';
import { postmanCollection } from '../postman/collection.ts';

/** A document that is served without authentication. */
export interface DocumentSource {
  path: string;
  contentType: string;
  text: string;
  /** Further response headers. */
  headers?: Readonly<HeaderList>;
}

export interface DocumentOptions {
  document: OpenApiDocument;
  /** The pages of the documentation. */
  site: Site;
}

const JSON_TYPE = 'application/json; charset=utf-8';
export const HTML_TYPE = 'text/html; charset=utf-8';
const CSS_TYPE = 'text/css; charset=utf-8';
const TEXT_TYPE = 'text/plain; charset=utf-8';

/** The headers of each HTML page besides its content type. */
export const PAGE_HEADERS: Readonly<HeaderList> = ['content-security-policy', DOCS_SECURITY_POLICY];

/**
 * Renders all public documents, each when it is taken. Each is served with GET and HEAD, with an ETag, plain or compressed.
 */
export function* documentsOf({ document, site }: DocumentOptions): Generator<DocumentSource> {
  yield { path: '/openapi.json', contentType: JSON_TYPE, text: JSON.stringify(document) };
  yield { path: '/postman.json', contentType: JSON_TYPE, text: JSON.stringify(postmanCollection(document)) };
  yield { path: '/llms.txt', contentType: TEXT_TYPE, text: llmsText(document, site.frame) };
  yield { path: STYLE_PATH, contentType: CSS_TYPE, text: STYLE };
  for (const page of site.pages) {
    yield { path: page.path, contentType: HTML_TYPE, text: renderPage(page, site.frame), headers: PAGE_HEADERS };
  }
}

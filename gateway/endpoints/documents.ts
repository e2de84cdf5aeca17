import type { HeaderList } from '#kit/http/response-headers.ts';
import { DOCS_SECURITY_POLICY, docsPage } from '../docs/page.ts';
import type { OpenApiDocument } from '../openapi/document.ts';

/** A document that anybody may read. */
export interface DocumentSource {
  path: string;
  contentType: string;
  text: string;
  /** Further response headers. */
  headers?: Readonly<HeaderList>;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const HTML_TYPE = 'text/html; charset=utf-8';

/** Returns the table of all public documents: each is served with GET and HEAD, with an ETag, plain or compressed. */
export function documentsOf(document: OpenApiDocument): DocumentSource[] {
  return [
    { path: '/openapi.json', contentType: JSON_TYPE, text: JSON.stringify(document) },
    {
      path: '/docs',
      contentType: HTML_TYPE,
      text: docsPage(document),
      headers: ['content-security-policy', DOCS_SECURITY_POLICY],
    },
  ];
}

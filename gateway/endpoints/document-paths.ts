const PAGES_FOLDER = '/docs/';
/** The documents outside of the folder of pages. The documents themselves are only created when one is requested. */
const OTHER_DOCUMENTS = ['/docs', '/changelog', '/openapi.json', '/postman.json', '/llms.txt'];

/**
 * True for the path of a public document, the same with a slash behind it, and every path in the folder of pages, so that
 * the response to a misspelt page says where the pages are.
 */
export function isDocumentPath(path: string): boolean {
  return path.startsWith(PAGES_FOLDER) || OTHER_DOCUMENTS.includes(withoutSlash(path));
}

export const withoutSlash = (path: string): string =>
  path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;

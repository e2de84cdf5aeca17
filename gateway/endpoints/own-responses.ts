import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { ApiError, asApiError, invalidRequest, methodNotAllowed } from '#kit/errors.ts';
import { sendBody, sendError, successBody } from '#kit/http/envelope.ts';
import type { HeaderList } from '#kit/http/response-headers.ts';
import { splitTarget } from '#kit/http/target.ts';
import { readQuery } from '#kit/http/validate.ts';
import type { Readiness } from '#kit/service/readiness.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { gatewayRoutes } from '#proto/rest/gateway.ts';
import { API_PREFIX, type Route } from '#proto/rest/route.ts';
import { SEARCH_PATH, Search } from '../docs/search.ts';
import { buildSite } from '../docs/site.ts';
import { openApiDocument } from '../openapi/openapi.ts';
import { scopesOf } from '../steps/scope.ts';
import { documentsOf, HTML_TYPE, PAGE_HEADERS } from './documents.ts';
import { PublicDocuments } from './public-documents.ts';
import { SECURITY_TXT_PATH } from './security-txt.ts';

/** Public paths besides those of the documents. */
const OTHER_PATHS = ['/', '/healthz', SECURITY_TXT_PATH];

const TEXT_HEADERS: Readonly<HeaderList> = [
  ['content-type', 'text/plain; charset=utf-8'],
  ['cache-control', 'public, max-age=3600'],
].flat();

/** Search results depend on the query, of which there are too many to cache. */
const SEARCH_HEADERS: Readonly<HeaderList> = ['content-type', HTML_TYPE, ...PAGE_HEADERS];

/** The number of characters of a query string that are read for a search. */
const MAX_SEARCH_QUERY = 1_000;

/** The redirect from `/` to the documentation. Its body is the API's usual response envelope. */
const TO_DOCS = successBody(302, 'The documentation is at /docs', { location: '/docs' });

export interface OwnResponsesOptions {
  routes: readonly Route[];
  version: string;
  serverUrl: string;
  readiness: Readiness;
  /** Creates the text of security.txt; undefined if no security contact is configured. */
  securityTxt: (() => string) | undefined;
}

export interface OwnResponses {
  handle: Express;
  /** True for a path that needs no API key and counts towards no rate limit. */
  isPublic: (path: string) => boolean;
}

/** The Express application for the responses of the gateway itself: whoami, health and the public documents. */
export function createOwnResponses(options: OwnResponsesOptions): OwnResponses {
  const { routes, version, serverUrl } = options;
  const document = openApiDocument(routes, { version, serverUrl });
  const site = buildSite({ document, routes });
  const documents = new PublicDocuments(documentsOf({ document, site }), [SEARCH_PATH]);
  return {
    handle: createApp(options, documents, new Search(site)),
    isPublic: (path) => OTHER_PATHS.includes(path) || documents.has(path),
  };
}

function createApp(
  { readiness, securityTxt }: OwnResponsesOptions,
  documents: PublicDocuments,
  search: Search,
): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.get('/healthz', (_request, response) => {
    if (!readiness.isReady) throw new ApiError('UNAVAILABLE', { message: 'not ready' });
    sendBody(response, 200, successBody(200, 'ready', {}));
  });
  app.get('/', (_request, response) => sendBody(response, 302, TO_DOCS, ['location', '/docs']));
  app.use(documents.send);
  app.get(SEARCH_PATH, (request, response) => {
    const { query } = splitTarget(request.originalUrl);
    const wanted = new URLSearchParams(query.slice(0, MAX_SEARCH_QUERY)).get('q') ?? '';
    sendBody(response, 200, search.page(wanted), SEARCH_HEADERS);
  });
  app.all(SECURITY_TXT_PATH, (_request, _response, next) => {
    if (!securityTxt) throw new ApiError('ROUTE_NOT_FOUND');
    next();
  });
  app.get(SECURITY_TXT_PATH, (_request, response) => sendBody(response, 200, securityTxt?.() ?? '', TEXT_HEADERS));
  app.get(API_PREFIX + gatewayRoutes.whoami.path, whoami);
  app.all(OTHER_PATHS, () => {
    throw methodNotAllowed(['GET']);
  });
  app.use((thrown: unknown, _request: Request, response: Response, _next: NextFunction) => {
    sendError(response, asApiError(thrown));
  });
  return app;
}

function whoami(request: Request, response: Response): void {
  const { faults } = readQuery(splitTarget(request.originalUrl).query);
  if (faults.length > 0) throw invalidRequest(faults);
  const grant = response.locals.grant as KeyGrant;
  const { status, message } = gatewayRoutes.whoami;
  const data = {
    guild_id: grant.guildId,
    prefix: grant.prefix,
    scopes: scopesOf(grant),
    legacy: grant.legacy,
  };
  sendBody(response, status, successBody(status, message, data));
}

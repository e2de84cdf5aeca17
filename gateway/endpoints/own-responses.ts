import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { ApiError, asApiError, invalidRequest, methodNotAllowed } from '#kit/errors.ts';
import { sendBody, sendError, successBody } from '#kit/http/envelope.ts';
import type { HeaderList } from '#kit/http/response-headers.ts';
import { splitTarget } from '#kit/http/target.ts';
import { readQuery } from '#kit/http/validate.ts';
import type { Readiness } from '#kit/service/readiness.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { gatewayRoutes } from '#proto/rest/gateway.ts';
import { API_PREFIX } from '#proto/rest/route.ts';
import { scopesOf } from '../steps/scope.ts';
import { isDocumentPath } from './document-paths.ts';
import type { Documentation, DocumentationOptions } from './documentation.ts';
import { SECURITY_TXT_PATH } from './security-txt.ts';

/** Public paths besides those of the documents. */
const OTHER_PATHS = ['/', '/healthz', SECURITY_TXT_PATH];

const TEXT_HEADERS: Readonly<HeaderList> = [
  ['content-type', 'text/plain; charset=utf-8'],
  ['cache-control', 'public, max-age=3600'],
].flat();

/** The redirect from `/` to the documentation. Its body is the API's usual response envelope. */
const TO_DOCS = successBody(302, 'The documentation is at /docs', { location: '/docs' });

export interface OwnResponsesOptions extends DocumentationOptions {
  readiness: Readiness;
  /** Creates the text of security.txt; undefined if no security contact is configured. */
  securityTxt: (() => string) | undefined;
}

export interface OwnResponses {
  handle: Express;
  /** True for a path that needs no API key and counts towards no rate limit. */
  isPublic: (path: string) => boolean;
  /** Creates the documents before the first request for one, so that `handle` responds before it returns. */
  prepare: (path: string) => Promise<unknown> | undefined;
}

type LazyDocumentation = () => Documentation | Promise<Documentation>;

/** The Express application for the responses of the gateway itself: whoami, health and the public documents. */
export function createOwnResponses(options: OwnResponsesOptions): OwnResponses {
  const documentation = documentationOf(options);
  return {
    handle: createApp(options, documentation),
    isPublic: (path) => OTHER_PATHS.includes(path) || isDocumentPath(path),
    prepare: (path) => {
      const found = isDocumentPath(path) ? documentation() : undefined;
      return found instanceof Promise ? found : undefined;
    },
  };
}

/**
 * Returns the documentation, which is created when it is first requested: most gateways never need it. If that fails, the
 * next request tries again.
 */
function documentationOf(options: DocumentationOptions): LazyDocumentation {
  let documentation: Documentation | Promise<Documentation> | undefined;
  const create = async () => {
    try {
      const module = await import('./documentation.ts');
      return (documentation = await module.Documentation.create(options));
    } catch (error) {
      documentation = undefined;
      throw error;
    }
  };
  return () => (documentation ??= create());
}

function createApp({ readiness, securityTxt }: OwnResponsesOptions, documentation: LazyDocumentation): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.get('/healthz', (_request, response) => {
    if (!readiness.isReady) throw new ApiError('UNAVAILABLE', { message: 'not ready' });
    sendBody(response, 200, successBody(200, 'ready', {}));
  });
  app.get('/', (_request, response) => sendBody(response, 302, TO_DOCS, ['location', '/docs']));
  app.use((request, response, next) => {
    if (!isDocumentPath(splitTarget(request.originalUrl).path)) return next();
    const found = documentation();
    return found instanceof Promise
      ? found.then((created) => created.send(request, response))
      : found.send(request, response);
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

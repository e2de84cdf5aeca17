import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { requestContext } from '#kit/context.ts';
import { type Address, type AddressList, clientAddress } from '#kit/downstream/client-address.ts';
import { ClientDisconnected } from '#kit/downstream/client-disconnected.ts';
import { expectsContinue } from '#kit/downstream/expectation.ts';
import { closesConnection, guard } from '#kit/downstream/guard.ts';
import { closesAfterResponse, oneHeader, stripReserved } from '#kit/downstream/headers.ts';
import { limitUnreadBody } from '#kit/downstream/lingering-close.ts';
import { ApiError, asApiError, methodNotAllowed } from '#kit/errors.ts';
import { sendBody, sendError, successBody } from '#kit/http/envelope.ts';
import { REQUEST_ID_HEADER, requestIdOf } from '#kit/http/request-id.ts';
import { addResponseHeader, type HeaderList } from '#kit/http/response-headers.ts';
import type { Readiness } from '#kit/service/readiness.ts';
import { TRACEPARENT_HEADER, TRACESTATE_HEADER } from '#kit/telemetry/tracing/trace-context.ts';
import type { Tracer } from '#kit/telemetry/tracing/tracer.ts';
import { CONSOLE_PREFIX } from '#proto/console/api.ts';
import { API_PREFIX } from '#proto/rest/route.ts';
import type { Forwarder } from '../forward/forward.ts';
import type { ConsoleTelemetry } from '../telemetry.ts';
import type { Assets } from './assets.ts';

/** The methods of the REST API and of the console's own endpoints. */
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

export interface ConsoleAppParts {
  assets: Assets;
  forwarder: Forwarder;
  telemetry: ConsoleTelemetry;
  readiness: Readiness;
  headers: Readonly<HeaderList>;
  /** Undefined unless traces are exported. */
  tracer: Tracer | undefined;
  /** Adds the console's own endpoints. */
  addEndpoints: (app: Express) => void;
}

/** Returns the handler of all requests to the public port. */
export function createConsoleApp(parts: ConsoleAppParts): (request: IncomingMessage, response: ServerResponse) => void {
  const { assets, forwarder, telemetry, readiness } = parts;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.get('/healthz', (_request, response) => {
    if (readiness.isReady) sendBody(response, 200, successBody(200, 'OK', {}));
    else sendError(response, new ApiError('UNAVAILABLE'));
  });
  parts.addEndpoints(app);
  app.use(CONSOLE_PREFIX, () => {
    throw new ApiError('ROUTE_NOT_FOUND');
  });
  app.use((request: Request, response: Response, next: NextFunction) => {
    if (!request.path.startsWith(`${API_PREFIX}/`)) return next();
    return forwarder.handle(request, response);
  });
  app.use((request: Request, response: Response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed(['GET']);
    assets.handle(request, response);
  });
  app.use((thrown: unknown, request: Request, response: Response, _next: NextFunction) => {
    if (thrown instanceof ClientDisconnected) return;
    const error = asApiError(thrown);
    telemetry.failed(error);
    // The client may still wait for 100 Continue: its next bytes could be a body or another request.
    sendError(response, error, expectsContinue(request) ? ['connection', 'close'] : []);
  });
  return (request, response) => begin(request, response, parts, app);
}

/** Checks the form of a request, adds the headers of every response, and runs the application. */
function begin(request: IncomingMessage, response: ServerResponse, parts: ConsoleAppParts, app: Express): void {
  const { telemetry, headers, tracer } = parts;
  const requestId = requestIdOf(oneHeader(request, REQUEST_ID_HEADER));
  const span = tracer?.ofClient(
    requestId,
    oneHeader(request, TRACEPARENT_HEADER),
    oneHeader(request, TRACESTATE_HEADER),
  );
  requestContext.run({ requestId, route: 'none', span }, () => {
    telemetry.follow(request, response);
    addResponseHeader(response, REQUEST_ID_HEADER, requestId);
    for (let index = 0; index < headers.length; index += 2) {
      addResponseHeader(response, String(headers[index]), String(headers[index + 1]));
    }
    limitUnreadBody(request, response);
    rememberForwardedFor(request);
    const malformed = guard(request) ?? unknownMethod(request);
    if ((malformed && closesConnection(malformed)) || closesAfterResponse(request.headers)) {
      addResponseHeader(response, 'connection', 'close');
    }
    if (malformed) {
      telemetry.failed(malformed);
      return sendError(response, malformed);
    }
    stripReserved(request);
    app(request, response);
  });
}

function unknownMethod({ method = '' }: IncomingMessage): ApiError | undefined {
  return METHODS.includes(method) || method === 'HEAD' ? undefined : methodNotAllowed(METHODS);
}

const FORWARDED_FOR = new WeakMap<IncomingMessage, string>();

/** Stores X-Forwarded-For before any header is removed: a client could name it in Connection. */
function rememberForwardedFor(request: IncomingMessage): void {
  const value = oneHeader(request, 'x-forwarded-for');
  if (value !== undefined) FORWARDED_FOR.set(request, value);
}

/** Returns the address of the browser; undefined if X-Forwarded-For is malformed. */
export const browserAddress = (request: IncomingMessage, trusted: AddressList): Address | undefined =>
  clientAddress(request.socket.remoteAddress, FORWARDED_FOR.get(request), trusted);

import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { z } from 'zod';
import { API_PREFIX, type Route, type RouteSpec } from '#proto/rest/route.ts';
import { grantsScope } from '#proto/rest/scopes.ts';
import type { Clock } from '../clock.ts';
import { requestContext } from '../context.ts';
import { oneHeader } from '../downstream/headers.ts';
import { ApiError, asApiError, invalidRequest, isServerError, missingScope } from '../errors.ts';
import { type EventSource, withEventSource } from '../events/source.ts';
import { StoredResponse, type WriteOutcome } from '../postgres/idempotency/idempotency.ts';
import type { KeyRing } from '../security/keyring.ts';
import { PRINCIPAL_HEADER, type Principal, verifyPrincipal } from '../security/principal.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { describeRequest, httpError } from '../telemetry/tracing/http-span.ts';
import { TRACEPARENT_HEADER, TRACESTATE_HEADER } from '../telemetry/tracing/trace-context.ts';
import type { Tracer } from '../telemetry/tracing/tracer.ts';
import { type HandlerResult, sendBody, sendError, successBody } from './envelope.ts';
import { EVENT_STREAM_HEADERS, StreamResponse } from './event-stream.ts';
import { type Match, Matcher } from './match.ts';
import { type HandlerRequest, readRequest } from './read-request.ts';
import { createRequestCounter } from './request-counter.ts';
import { writeResponseHead } from './response-headers.ts';
import { splitTarget } from './target.ts';

export type { HandlerRequest } from './read-request.ts';

/** The handlers of a REST service, one for each route. */
export type HttpHandlers<Table extends Record<string, Route>> = {
  [Name in keyof Table]: (
    request: HandlerRequest<Table[Name]>,
  ) => Promise<WriteOutcome<z.input<NonNullable<Table[Name]['data']>>> | StreamResponse>;
};

export interface HttpAppOptions {
  /** The name of the service that is served; principals must be signed for it. */
  service: string;
  ring: KeyRing;
  clock: Clock;
  metrics: Metrics;
  log: Logger;
  tracer?: Tracer | undefined;
}

type RequestCounter = ReturnType<typeof createRequestCounter>;

type Handler = (request: HandlerRequest<RouteSpec>) => Promise<HandlerResult | StoredResponse | StreamResponse>;

/** Responds to the requests of a service, like the handler of Node's HTTP server. */
export type HttpApp = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Creates the function that serves the REST routes of a service. It finds routes with the gateway's matcher instead of
 * Express, which would take a tenth to a fifth of a service's CPU (deploy/decisions/0029-cost-of-a-request.md).
 */
export function createHttpApp<Table extends Record<string, Route>>(
  table: Table,
  handlers: HttpHandlers<Table>,
  options: HttpAppOptions,
): HttpApp {
  const { metrics, log, service: audience, ring, clock } = options;
  const routes = Object.values(table);
  const requests = createRequestCounter(metrics, routes);
  const matcher = new Matcher(routes, API_PREFIX);
  const serve = new Map(
    Object.entries(table).map(([name, route]) => {
      const handler = handlers[name] as unknown as Handler;
      return [route, routeHandler(route, handler, requests, options)] as const;
    }),
  );
  return (request, response) => {
    const { method = '', url = '' } = request;
    const fail = (thrown: unknown) => {
      const error = withPathError(thrown);
      if (isServerError(error)) log.error({ err: error }, 'request failed');
      sendError(response, error);
      requests.inc({ route: 'none', method, code: error.httpStatus });
    };
    try {
      const header = oneHeader(request, PRINCIPAL_HEADER);
      const principal = verifyPrincipal(ring, header, { audience, method, target: url }, clock.now());
      const match = matcher.match(method, splitTarget(url).path);
      // The gateway has rejected methods that the path does not support.
      if (match instanceof ApiError) throw new ApiError('ROUTE_NOT_FOUND');
      void serve.get(match.route)?.(match, request, response, principal).catch(fail);
    } catch (thrown) {
      fail(thrown);
    }
  };
}

function routeHandler(
  route: Route,
  handler: Handler,
  requests: RequestCounter,
  { metrics, log, tracer }: HttpAppOptions,
) {
  const seconds = metrics.requestDuration(
    'http_request_duration_seconds',
    'Time from the receipt of an HTTP request to its response',
    ['route', 'method'],
  );
  const template = API_PREFIX + route.path;
  return async (
    match: Match,
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal,
  ): Promise<void> => {
    const started = performance.now();
    const { requestId, guildId } = principal;
    const { method = '' } = request;
    const span = tracer?.ofForwarded(
      requestId,
      oneHeader(request, TRACEPARENT_HEADER),
      oneHeader(request, TRACESTATE_HEADER),
    );
    await requestContext.run({ requestId, route: route.name, guildId, span }, async () => {
      try {
        // The gateway and auth have checked the scope; a mistake there must not be enough.
        if (route.scope !== null && !grantsScope(principal.scopes, route.scope)) throw missingScope(route.scope);
        const read = await readRequest(match, request, response, principal);
        sendResult(request, response, route, await withEventSource(sourceOf(principal), () => handler(read)));
      } catch (thrown) {
        const error = asApiError(thrown);
        if (isServerError(error)) log.error({ err: error }, 'request failed');
        sendError(response, error);
      }
    });
    const { statusCode: code } = response;
    seconds.observe({ route: route.name, method }, (performance.now() - started) / 1000, span);
    requests.inc({ route: route.name, method, code });
    span?.end(httpError(code), () => describeRequest({ method, route: route.name, template, code, requestId }));
  };
}

function sourceOf({ person, keyPrefix, requestId, address }: Principal): EventSource {
  const origin = address === undefined ? { requestId } : { requestId, address };
  return person
    ? { kind: 'console', id: person.id, ...origin, role: person.role }
    : { kind: 'api_key', id: keyPrefix, ...origin };
}

function sendResult(
  request: IncomingMessage,
  response: ServerResponse,
  route: Route,
  result: Awaited<ReturnType<Handler>>,
): void {
  if (result instanceof StreamResponse) return beginStream(request, response, result);
  if (result instanceof StoredResponse) {
    return sendBody(response, result.status, result.body, ['idempotency-replayed', 'true']);
  }
  const status = result.status ?? route.status;
  sendBody(response, status, successBody(status, result.message ?? route.message, result.data));
}

function beginStream({ method }: IncomingMessage, response: ServerResponse, { begin }: StreamResponse): void {
  writeResponseHead(response, 200, EVENT_STREAM_HEADERS);
  if (method === 'HEAD') return void response.end();
  response.flushHeaders();
  begin(response);
}

/** Converts a thrown value to an ApiError. The matcher throws a URIError for an invalid percent-escape in the path. */
function withPathError(thrown: unknown): ApiError {
  if (thrown instanceof URIError) {
    return invalidRequest([{ path: 'path', message: 'has a percent-escape that cannot be read' }]);
  }
  return asApiError(thrown);
}

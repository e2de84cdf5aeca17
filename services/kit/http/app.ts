import { performance } from 'node:perf_hooks';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { z } from 'zod';
import { API_PREFIX, type Route, type RouteSpec } from '#proto/rest/route.ts';
import { grantsScope } from '#proto/rest/scopes.ts';
import type { Clock } from '../clock.ts';
import { requestContext } from '../context.ts';
import { ApiError, asApiError, type Fault, invalidRequest, isServerError, missingScope } from '../errors.ts';
import { type EventSource, withEventSource } from '../events/source.ts';
import { type IdempotentWrite, StoredResponse, type WriteOutcome } from '../postgres/idempotency.ts';
import { holdsApiKey } from '../security/api-key.ts';
import type { KeyRing } from '../security/keyring.ts';
import { PRINCIPAL_HEADER, type Principal, verifyPrincipal } from '../security/principal.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { describeRequest, httpError } from '../telemetry/tracing/http-span.ts';
import { TRACEPARENT_HEADER, TRACESTATE_HEADER } from '../telemetry/tracing/trace-context.ts';
import type { Tracer } from '../telemetry/tracing/tracer.ts';
import { hashJson, readBody } from './body.ts';
import { isCursorShaped, NO_CURSOR } from './cursor.ts';
import { type HandlerResult, sendBody, sendError, successBody } from './envelope.ts';
import { EVENT_STREAM_HEADERS, StreamResponse } from './event-stream.ts';
import { guildFaults } from './guild.ts';
import { createRequestCounter } from './request-counter.ts';
import { writeResponseHead } from './response-headers.ts';
import { splitTarget } from './target.ts';
import { type FaultPlace, readQuery, validate } from './validate.ts';

/** The type of a validated part of an HTTP request. A handler reads only parts for which its route has a schema. */
type Part<Schema extends z.ZodType | undefined> = z.output<NonNullable<Schema>>;

/** An HTTP request whose parts have all been validated against the schemas of its route. */
export interface HandlerRequest<Spec extends RouteSpec> {
  principal: Principal;
  guildId: string;
  params: Part<Spec['params']>;
  query: Part<Spec['query']>;
  body: Part<Spec['body']>;
  /** The names of unknown fields in the body: at most 20 names, each truncated to 64 characters. */
  ignoredFields: readonly string[];
  /** Identifies a repeated write by its Idempotency-Key; used on routes that write. */
  write: IdempotentWrite;
  /** The event after which a stream of events continues; used on routes with such a stream. */
  lastEventId: number | undefined;
  /** The signal that is aborted if the client disconnects before the response is sent. */
  signal: AbortSignal;
}

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

/** Creates an Express application that serves the REST routes of a service. */
export function createHttpApp<Table extends Record<string, Route>>(
  table: Table,
  handlers: HttpHandlers<Table>,
  options: HttpAppOptions,
): Express {
  const { metrics, log } = options;
  const requests = createRequestCounter(metrics, Object.values(table));
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.use((request: Request, response: Response, next: NextFunction) => {
    const signedRequest = { audience: options.service, method: request.method, target: request.originalUrl };
    response.locals.principal = verifyPrincipal(
      options.ring,
      request.get(PRINCIPAL_HEADER),
      signedRequest,
      options.clock.now(),
    );
    next();
  });
  for (const [name, route] of Object.entries(table)) {
    const method = route.method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete';
    app[method](API_PREFIX + route.path, routeHandler(route, handlers[name] as unknown as Handler, requests, options));
  }
  app.use(() => {
    throw new ApiError('ROUTE_NOT_FOUND');
  });
  app.use((thrown: unknown, { method }: Request, response: Response, _next: NextFunction) => {
    const error = withPathError(thrown);
    if (isServerError(error)) log.error({ err: error }, 'request failed');
    sendError(response, error);
    requests.inc({ route: 'none', method, code: error.httpStatus });
  });
  return app;
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
  return async (request: Request, response: Response): Promise<void> => {
    const principal = response.locals.principal as Principal;
    const started = performance.now();
    const { requestId, guildId } = principal;
    const { method } = request;
    const span = tracer?.ofProcess(request.get(TRACEPARENT_HEADER), request.get(TRACESTATE_HEADER));
    await requestContext.run({ requestId, route: route.name, guildId, span }, async () => {
      try {
        // The gateway and auth have checked the scope; a mistake there must not be enough.
        if (route.scope !== null && !grantsScope(principal.scopes, route.scope)) throw missingScope(route.scope);
        const read = await readRequest(route, request, response, principal);
        sendResult(response, route, await withEventSource(sourceOf(principal), () => handler(read)));
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

function sendResult(response: Response, route: Route, result: Awaited<ReturnType<Handler>>): void {
  if (result instanceof StreamResponse) return beginStream(response, result);
  if (result instanceof StoredResponse) {
    return sendBody(response, result.status, result.body, ['idempotency-replayed', 'true']);
  }
  const status = result.status ?? route.status;
  sendBody(response, status, successBody(status, result.message ?? route.message, result.data));
}

function beginStream(response: Response, { begin }: StreamResponse): void {
  writeResponseHead(response, 200, EVENT_STREAM_HEADERS);
  if (response.req.method === 'HEAD') return void response.end();
  response.flushHeaders();
  begin(response);
}

/**
 * Validates an HTTP request: first its guild (GUILD_MISMATCH), then all other parts. Throws INVALID_REQUEST that lists
 * all validation errors.
 */
async function readRequest(
  route: Route,
  request: Request,
  response: Response,
  principal: Principal,
): Promise<HandlerRequest<RouteSpec>> {
  const { given, faults } = await readGiven(route, request, response);
  faults.push(...guildFaults(given, principal));
  const query = readQuery(splitTarget(request.originalUrl).query);
  faults.push(...query.faults);
  const check = (schema: z.ZodType | undefined, value: unknown, place: FaultPlace) => {
    if (!schema) return {};
    const result = validate(schema, value, place);
    faults.push(...(result.faults ?? []));
    return (result.value ?? {}) as Record<string, never>;
  };
  const parts = {
    params: check(route.params, request.params, 'path'),
    query: check(route.query, query.value, 'query'),
    body: given ? check(route.body, given, 'body') : {},
  };
  faults.push(...cursorFaults(route.query, query.value['cursor']));
  const key = route.writes ? idempotencyKey(request, principal, faults) : undefined;
  const lastEventId = route.eventStream ? readLastEventId(request, faults) : undefined;
  if (faults.length > 0) throw invalidRequest(oncePerPath(faults));
  const { guildId } = principal;
  const { method, path } = request;
  const bodyHash = key === undefined ? NO_HASH : hashJson(given);
  const write = { guildId, method, path, key, bodyHash, status: route.status, message: route.message };
  const ignoredFields = unknownFields(route.body, given ?? {});
  return { principal, guildId, ...parts, ignoredFields, write, lastEventId, signal: disconnectSignal(response) };
}

const MAX_IGNORED_FIELDS = 20;
const MAX_FIELD_NAME_LENGTH = 64;

function unknownFields(schema: z.ZodType | undefined, given: Record<string, unknown>): string[] {
  const known = schema instanceof z.ZodObject ? schema.shape : {};
  return Object.keys(given)
    .filter((name) => name !== 'guild_id' && !Object.hasOwn(known, name))
    .slice(0, MAX_IGNORED_FIELDS)
    .map((name) => name.slice(0, MAX_FIELD_NAME_LENGTH));
}

/**
 * Returns a validation error if the query parameter `cursor` is malformed. The handler checks later that the cursor
 * belongs to the requested list.
 */
function cursorFaults(schema: z.ZodType | undefined, cursor: unknown): Fault[] {
  if (!(schema instanceof z.ZodObject) || !('cursor' in schema.shape) || typeof cursor !== 'string') return [];
  return isCursorShaped(cursor) ? [] : [{ path: 'query.cursor', message: NO_CURSOR }];
}

function disconnectSignal(response: Response): AbortSignal {
  const disconnected = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) disconnected.abort();
  });
  return disconnected.signal;
}

const NO_HASH = Buffer.alloc(0);

/**
 * Reads the JSON body, also on routes without body fields, because the body may name a guild. An unreadable body is
 * returned as validation errors.
 */
async function readGiven(
  route: Route,
  request: Request,
  response: Response,
): Promise<{ given?: Record<string, unknown>; faults: Fault[] }> {
  if (route.method === 'GET') return { given: {}, faults: [] };
  try {
    return { given: await readBody(request, response), faults: [] };
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'INVALID_REQUEST') throw error;
    return { faults: error.details.errors as Fault[] };
  }
}

function idempotencyKey(request: Request, { guildId }: Principal, faults: Fault[]): string | undefined {
  const key = request.get('idempotency-key');
  // The Idempotency-Key is decoded as UTF-8 to count its characters: Node gives one Latin-1 character for each byte.
  const length = key === undefined ? 1 : Array.from(Buffer.from(key, 'latin1').toString()).length;
  if (length < 1 || length > 128) {
    faults.push({ path: 'header.Idempotency-Key', message: 'must have 1 to 128 characters' });
  }
  // The Idempotency-Key is stored unencrypted, so it must not contain an API key, which may never be stored.
  if (key !== undefined && holdsApiKey(key, guildId)) {
    faults.push({ path: 'header.Idempotency-Key', message: 'must not contain an API key' });
  }
  return key;
}

/** Returns the number in Last-Event-ID, which clients send when they connect again; undefined if it is missing. */
function readLastEventId(request: Request, faults: Fault[]): number | undefined {
  const text = request.get('last-event-id') ?? '';
  if (text === '') return undefined;
  if (/^[0-9]{1,16}$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  faults.push({ path: 'header.Last-Event-ID', message: 'must be the id of an event' });
  return undefined;
}

/** Returns only the first validation error of each path. */
function oncePerPath(faults: Fault[]): Fault[] {
  const first = new Map<string, Fault>();
  for (const fault of faults) if (!first.has(fault.path)) first.set(fault.path, fault);
  return [...first.values()];
}

/** Converts a thrown value to an ApiError. Express throws a URIError for an invalid percent-escape in the path. */
function withPathError(thrown: unknown): ApiError {
  if (thrown instanceof URIError) {
    return invalidRequest([{ path: 'path', message: 'has a percent-escape that cannot be read' }]);
  }
  return asApiError(thrown);
}

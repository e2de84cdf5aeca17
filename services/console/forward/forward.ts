import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '#kit/clock.ts';
import { requestContext } from '#kit/context.ts';
import type { Address } from '#kit/downstream/client-address.ts';
import { ClientDisconnected } from '#kit/downstream/client-disconnected.ts';
import { oneHeader } from '#kit/downstream/headers.ts';
import { ApiError, invalidRequest } from '#kit/errors.ts';
import { REQUEST_ID_HEADER } from '#kit/http/request-id.ts';
import { writeResponseHead } from '#kit/http/response-headers.ts';
import { splitTarget } from '#kit/http/target.ts';
import type { Upstream } from '#kit/http/upstream.ts';
import { readQuery } from '#kit/http/validate.ts';
import { type Limiter, tightest } from '#kit/limits/limiter.ts';
import { addLimitHeaders, limitExceeded } from '#kit/limits/response.ts';
import { PRINCIPAL_HEADER } from '#kit/security/principal.ts';
import { recordedSpan, traceHeaders } from '#kit/telemetry/tracing/current-span.ts';
import { describeForwarding, httpError } from '#kit/telemetry/tracing/http-span.ts';
import type { Span } from '#kit/telemetry/tracing/span.ts';
import type { Caller, SignRequestResponse } from '#proto/gen/guild/auth/v1/console.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { CATEGORIES } from '#proto/rest/limits.ts';
import type { Route } from '#proto/rest/route.ts';
import { guildId as guildIdSchema } from '#proto/rest/schemas.ts';
import type { BrowserRequest, Gate } from '../http/gate.ts';
import type { AuthClient } from '../http/sign-in.ts';
import type { Persons } from '../limits/persons.ts';
import type { ConsoleTelemetry } from '../telemetry.ts';
import { forwardedHeaders, returnedHeaders } from './headers.ts';

const FIRST_ERROR = 400;
const ROUTES_BY_NAME = new Map(ROUTES.map((route) => [route.name, route]));

export interface ForwarderParts {
  gate: Gate;
  auth: AuthClient;
  persons: Persons;
  limiter: Limiter;
  clock: Clock;
  /** By the name of the service. */
  upstreams: Readonly<Record<string, Upstream>>;
  addressOf: (request: IncomingMessage) => Address | undefined;
  telemetry: ConsoleTelemetry;
}

/**
 * Forwards requests to the REST API. Auth checks the session and the role for each of them, and signs the principal of this
 * one request; the console can sign none.
 */
export class Forwarder {
  readonly #parts: ForwarderParts;

  constructor(parts: ForwarderParts) {
    this.#parts = parts;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { gate, addressOf } = this.#parts;
    const browser = { request, response, address: addressOf(request) };
    await gate.withSession(browser, (caller, body) => this.#forward(browser, caller, body));
  }

  async #forward({ request, response }: BrowserRequest, caller: Caller, body: Buffer): Promise<void> {
    const { method = '', url: target = '' } = request;
    const guildId = guildOf(request);
    const signed = await this.#parts.auth.signRequest({ caller, guildId, method, target });
    this.#parts.persons.learn(caller, signed.personId);
    const route = routeOf(signed, target);
    const context = requestContext.getStore();
    if (context) context.route = route.name;
    await this.#limit(route, guildId, signed, response);
    const upstream = this.#parts.upstreams[route.service];
    if (!upstream) throw new ApiError('ROUTE_NOT_FOUND');
    // 'close' was emitted before this can listen.
    if (response.destroyed) throw new ClientDisconnected();
    const left = new AbortController();
    response.once('close', () => left.abort());
    const headers = {
      ...forwardedHeaders(request),
      [REQUEST_ID_HEADER]: caller.requestId,
      [PRINCIPAL_HEADER]: signed.principal,
    };
    const signal = left.signal;
    const received = await sendTraced(route, (traced) =>
      upstream.send({
        method,
        target,
        headers: { ...headers, ...traced },
        body: body.length > 0 ? body : undefined,
        signal,
      }),
    );
    if (route.writes && (received.statusCode ?? 0) < FIRST_ERROR) this.#parts.telemetry.changed(route.name, guildId);
    writeResponseHead(response, received.statusCode ?? 502, returnedHeaders(received));
    // A browser that leaves, or a service that is lost after its response has begun, ends both sides.
    await pipeline(received, response).catch(() => response.destroy());
  }

  /** Counts the request towards the rate limit of its route. A person has limits apart from those of all keys. */
  async #limit(
    route: Route,
    guildId: string,
    { personId }: SignRequestResponse,
    response: ServerResponse,
  ): Promise<void> {
    if (route.category === null) return;
    const { limit } = CATEGORIES[route.category];
    const limits = [{ category: route.category, limit, subject: `person:${personId}` }];
    const decision = await this.#parts.limiter.decide(guildId, limits);
    const shown = decision.allowed ? tightest(decision.states) : decision.rejectedBy;
    if (shown) addLimitHeaders(shown, this.#parts.clock, response);
    if (!decision.allowed) throw limitExceeded(decision.rejectedBy);
  }
}

/** Sends a request to a service as a span of the browser's request. `send` receives the headers of the trace. */
function sendTraced(
  route: Route,
  send: (headers: Record<string, string>) => Promise<IncomingMessage>,
): Promise<IncomingMessage> {
  const description = describeForwarding(route);
  const work = async (call?: Span) => {
    const received = await send(Object.fromEntries(traceHeaders(call)));
    if (received.statusCode !== undefined) description.attributes['http.response.status_code'] = received.statusCode;
    return received;
  };
  const rules = {
    failureIn: ({ statusCode }: IncomingMessage) => httpError(statusCode),
    isExpected: (error: unknown) => error instanceof ClientDisconnected,
  };
  return recordedSpan()?.call(description, work, rules) ?? work();
}

/** Returns the guild of a request, which the app always sends, also where the path or the body has it too. */
function guildOf(request: IncomingMessage): string {
  const given = guildIdSchema.safeParse(oneHeader(request, 'x-guild-id'));
  if (given.success) return given.data;
  throw invalidRequest([{ path: 'header.X-Guild-ID', message: 'must be the ID of the guild' }]);
}

/** Returns the route that auth has found. Throws ROUTE_NOT_FOUND for those that the console does not forward. */
function routeOf({ route: name }: SignRequestResponse, target: string): Route {
  const route = ROUTES_BY_NAME.get(name);
  // The console has an endpoint of its own for events, which all viewers of a guild share.
  if (!route || route.eventStream) throw new ApiError('ROUTE_NOT_FOUND');
  const { wait } = readQuery(splitTarget(target).query).value;
  if (route.longPoll && wait !== undefined) {
    throw invalidRequest([{ path: 'query.wait', message: 'cannot be used in the console' }]);
  }
  return route;
}

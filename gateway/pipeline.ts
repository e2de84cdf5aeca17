import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Clock } from '#kit/clock.ts';
import { requestContext } from '#kit/context.ts';
import {
  type Address,
  type AddressList,
  clientAddress,
  networkOf,
  peerAddress,
} from '#kit/downstream/client-address.ts';
import type { ClientConnections } from '#kit/downstream/client-connections.ts';
import { expectsContinue } from '#kit/downstream/expectation.ts';
import { closesConnection, guard } from '#kit/downstream/guard.ts';
import { closesAfterResponse, oneHeader, stripReserved } from '#kit/downstream/headers.ts';
import { limitUnreadBody } from '#kit/downstream/lingering-close.ts';
import { ApiError, asApiError, type Rejection } from '#kit/errors.ts';
import { hasBody } from '#kit/http/body.ts';
import { sendBody, sendError, successBody } from '#kit/http/envelope.ts';
import type { Match, Matcher } from '#kit/http/match.ts';
import { REQUEST_ID_HEADER, requestIdOf } from '#kit/http/request-id.ts';
import { addResponseHeader } from '#kit/http/response-headers.ts';
import { splitTarget } from '#kit/http/target.ts';
import type { Limiter } from '#kit/limits/limiter.ts';
import { readApiKey } from '#kit/security/api-key.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import { PRINCIPAL_HEADER, type Principal, signPrincipal } from '#kit/security/principal.ts';
import { describeForwarding, httpError } from '#kit/telemetry/tracing/http-span.ts';
import { failureOf } from '#kit/telemetry/tracing/span.ts';
import type { Tracer } from '#kit/telemetry/tracing/tracer.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import type { Route } from '#proto/rest/route.ts';
import { Admission } from './downstream/admission.ts';
import { PipelineQueue } from './downstream/pipeline-queue.ts';
import type { OwnResponses } from './endpoints/own-responses.ts';
import { INTERACTIONS_PATH, type Interactions } from './interactions/interactions.ts';
import type { RequestCounts } from './keys/request-counts.ts';
import type { KeyUsage } from './keys/usage.ts';
import type { RequestState } from './request-state.ts';
import { Allowlists } from './steps/allowlist.ts';
import { type Authenticate, presentedKey } from './steps/authenticate.ts';
import { announceDeprecation } from './steps/deprecation.ts';
import { checkGuild } from './steps/guild.ts';
import { checkLimits } from './steps/limit.ts';
import { checkScope, scopesOf } from './steps/scope.ts';
import { closeWithClient, isStream, waitMsOf } from './steps/waiting.ts';
import { forwardStream } from './streams/forward.ts';
import type { Streams } from './streams/streams.ts';
import type { GatewayTelemetry } from './telemetry/telemetry.ts';
import { startForwarding, startTrace } from './telemetry/traces.ts';
import { type Proxy, WaitEnded } from './upstream/proxy.ts';

export interface PipelineParts {
  matcher: Matcher;
  authenticate: Authenticate;
  usage: KeyUsage;
  requests: RequestCounts;
  limiter: Limiter;
  proxy: Proxy;
  streams: Streams;
  /** Responds to the gateway's own routes, such as /healthz; `response.locals.grant` holds the client's API key. */
  ownResponses: OwnResponses;
  /** Undefined unless slash commands are configured. */
  interactions: Interactions | undefined;
  trustedProxies: AddressList;
  connections: ClientConnections;
  /** The limit on requests in flight. The same limit applies to pipelined requests that wait for an earlier one. */
  maxInFlight: number;
  maxWaitingPolls: number;
  ring: KeyRing;
  clock: Clock;
  telemetry: GatewayTelemetry;
  /** Undefined unless traces are exported. */
  tracer?: Tracer | undefined;
}

/** Takes every request through the same ordered steps, from authentication to the service. */
export class Pipeline {
  /** Counts the requests in flight and rejects requests above the limits. */
  readonly admission: Admission;
  readonly #parts: PipelineParts;
  readonly #connectionQueue;
  readonly #allowlists = new Allowlists();

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.admission = new Admission(parts);
    this.#connectionQueue = new PipelineQueue(parts.maxInFlight);
  }

  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    const requestId = requestIdOf(oneHeader(request, REQUEST_ID_HEADER));
    const context = { requestId, route: 'none', span: startTrace(this.#parts.tracer, request, requestId) };
    // Read before stripReserved: a client that names the header in Connection must not remove its own address.
    const forwarded = oneHeader(request, 'x-forwarded-for');
    const state: RequestState = {
      request,
      response,
      context,
      route: undefined,
      forwarded,
      address: undefined,
      slot: 'none',
      sharedBy: undefined,
      isPoll: false,
      started: 0,
      upstreamMs: 0,
      isStream: false,
    };
    addResponseHeader(response, REQUEST_ID_HEADER, requestId);
    limitUnreadBody(request, response);
    this.#connectionQueue.take(request, response, {
      begin: () => requestContext.run(context, () => void this.#run(state)),
      network: () => networkOf(this.#callerAddress(state)),
    });
  };

  async #run(state: RequestState): Promise<void> {
    const { request, response, context } = state;
    // While the request waited in the pipeline queue, the gateway may already have responded to a protocol error in its
    // body.
    if (response.writableEnded) return;
    state.started = performance.now();
    const rejection: Rejection = await this.#steps(state).catch(asApiError);
    try {
      if (rejection) sendError(response, rejection, expectsContinue(request) ? ['connection', 'close'] : []);
      // The response is written, or the client has disconnected. The connection, not the request, limits how long the
      // client may read.
      if (!state.isStream) this.admission.leave(state);
      const { route, started, upstreamMs } = state;
      this.#parts.telemetry.responded(request, response, context, { route, started, upstreamMs, rejection });
    } catch (error) {
      // The error is not rethrown: an unhandled rejection would end the process, and with it all other requests.
      response.destroy();
      this.admission.leave(state);
      this.#parts.telemetry.failed(error);
    }
  }

  /**
   * Runs the steps of a request. Returns the error of the first step that rejects it, or undefined after the response
   * is written.
   */
  async #steps(state: RequestState): Promise<Rejection> {
    const { request, response } = state;
    const { limiter, clock, usage, requests, interactions } = this.#parts;
    const malformed = this.#checkMessage(request, response);
    if (malformed) return malformed;
    const { path, query } = splitTarget(request.url ?? '');
    if (this.#parts.ownResponses.isPublic(path)) {
      const preparing = this.#parts.ownResponses.prepare(path);
      if (preparing) await preparing;
      return this.#respondHere(state, undefined);
    }
    if (interactions && path === INTERACTIONS_PATH) {
      return interactions.respond(state, this.admission, this.#callerAddress(state));
    }
    const match = this.#match(state, path);
    if (match instanceof ApiError) return match;
    const { route } = match;
    const found = this.#authenticate(state, query);
    const grant = found instanceof Promise ? await found : found;
    if (grant instanceof ApiError) return grant;
    const waitMs = waitMsOf(route, query);
    const rejection =
      this.#authorise(state, match, grant, waitMs) ?? (await checkLimits({ route, grant, limiter, clock, response }));
    if (rejection) return requests.rejected(grant, route, rejection);
    usage.record(grant);
    // The gateway may already have responded to a protocol error in the request's body.
    if (response.writableEnded) return undefined;
    if (route.service === 'gateway') return this.#respondHere(state, grant);
    const overload = this.#receive(state);
    if (overload) return requests.rejected(grant, route, overload);
    requests.allowed(grant, route);
    await this.#forward(state, route, grant, waitMs);
    return undefined;
  }

  /** Rejects requests that a service could read differently, and removes headers that a client could forge. */
  #checkMessage(request: IncomingMessage, response: ServerResponse): Rejection {
    const malformed = guard(request);
    if ((malformed && closesConnection(malformed)) || closesAfterResponse(request.headers)) {
      addResponseHeader(response, 'connection', 'close');
    }
    if (!malformed) stripReserved(request);
    return malformed;
  }

  /** Finds the route of a request, and takes an in-flight slot for it. */
  #match(state: RequestState, path: string): Match | ApiError {
    const match = this.#parts.matcher.match(state.request.method ?? '', path);
    if (match instanceof ApiError) return match;
    state.route = match.route;
    state.context.route = match.route.name;
    announceDeprecation(match.route, state.response);
    return this.admission.enter(state) ?? match;
  }

  #authenticate(state: RequestState, query: string): KeyGrant | ApiError | Promise<KeyGrant | ApiError> {
    const { request, response } = state;
    const address = () => this.#callerAddress(state);
    const found = this.#parts.authenticate.run({ request, query, response, address });
    // Only a request whose API key must be looked up in the auth service waits here.
    return found instanceof Promise ? this.admission.whileUnauthenticated(networkOf(address()), found) : found;
  }

  /** Checks what the API key may do, and counts the request towards its guild's share. */
  #authorise(state: RequestState, match: Match, grant: KeyGrant, waitMs: number): Rejection {
    const { telemetry, connections } = this.#parts;
    const { request, response, context } = state;
    context.keyId = grant.keyId;
    telemetry.authenticated(grant);
    if (!connections.authenticated(request.socket, grant.guildId)) addResponseHeader(response, 'connection', 'close');
    return (
      this.#allowlists.check(grant, () => this.#clientAddress(state)) ??
      checkGuild(match, request.headers['x-guild-id'], grant.guildId) ??
      checkScope(match.route, grant) ??
      this.admission.share(state, grant.guildId, waitMs > 0 || isStream(match.route, request))
    );
  }

  /** While the client is still sending the body, at its own pace, the request does not count as in flight. */
  #receive(state: RequestState): Rejection {
    const { request } = state;
    if (request.complete || !hasBody(request)) return undefined;
    const overload = this.admission.receive(state);
    if (!overload) request.once('end', () => this.admission.received(state));
    return overload;
  }

  /** Forwards the request to its service together with the signed principal (who the client is and what it may do). */
  async #forward(state: RequestState, route: Route, grant: KeyGrant, waitMs: number): Promise<undefined> {
    const { proxy, ring, clock } = this.#parts;
    const { request, response } = state;
    const { requestId } = state.context;
    const { keyId, prefix: keyPrefix, guildId, legacy } = grant;
    const address = route.writes ? this.#callerAddress(state)?.toString() : undefined;
    const principal: Principal = { keyId, keyPrefix, guildId, scopes: scopesOf(grant), legacy, requestId, address };
    const signedRequest = { audience: route.service, method: request.method ?? '', target: request.url ?? '' };
    request.headers[REQUEST_ID_HEADER] = requestId;
    request.headers[PRINCIPAL_HEADER] = signPrincipal(ring, principal, signedRequest, clock.now());
    const opensStream = isStream(route, request);
    if (waitMs > 0 || opensStream) {
      this.admission.wait(state);
      closeWithClient(request, response);
    }
    // 100 Continue is sent after all checks, so that a client whose request is rejected need not send its body.
    if (expectsContinue(request)) response.writeContinue();
    const started = performance.now();
    const call = startForwarding(request, state.context.span);
    let failure: string | undefined;
    let code: number | undefined;
    try {
      if (opensStream) state.isStream = await this.#stream(state, route, grant);
      else await proxy.forward(request, response, route.service, waitMs);
      if (response.headersSent) code = response.statusCode;
    } catch (error) {
      failure = error instanceof WaitEnded ? undefined : failureOf(error);
      if (!(error instanceof WaitEnded)) throw error;
      if (!route.longPoll?.whenEnded) throw new ApiError('UNAVAILABLE', { cause: error });
      sendBody(response, route.status, successBody(route.status, route.message, route.longPoll.whenEnded));
    } finally {
      state.upstreamMs = performance.now() - started;
      call?.end(failure ?? httpError(code), () => describeForwarding(route, code));
    }
  }

  /** Forwards a request for a stream of events. Returns true if the stream has begun. */
  #stream(state: RequestState, route: Route, grant: KeyGrant): Promise<boolean> {
    const { proxy, streams } = this.#parts;
    const { request, response } = state;
    const key = readApiKey(presentedKey(request.headers) ?? '');
    if (!key) throw new Error('an authenticated request has no API key');
    const address = this.#clientAddress(state);
    const check = (newer: KeyGrant) => this.#allowlists.check(newer, () => address) ?? checkScope(route, newer);
    const ended = () => this.admission.leave(state);
    return forwardStream({ proxy, streams, service: route.service, request, response, key, grant, check, ended });
  }

  #respondHere({ request, response }: RequestState, grant: KeyGrant | undefined): undefined {
    Object.assign(response, { locals: { grant } });
    this.#parts.ownResponses.handle(request, response);
  }

  /**
   * Returns the address that the request counts towards: the client's, or the socket's if X-Forwarded-For is malformed.
   */
  #callerAddress(state: RequestState): Address | undefined {
    return this.#clientAddress(state) ?? peerAddress(state.request.socket.remoteAddress ?? '');
  }

  #clientAddress(state: RequestState): Address | undefined {
    const { request, forwarded } = state;
    state.address ??= clientAddress(request.socket.remoteAddress, forwarded, this.#parts.trustedProxies);
    return state.address;
  }
}

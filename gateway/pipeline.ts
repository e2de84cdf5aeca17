import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Clock } from '#kit/clock.ts';
import { type RequestContext, requestContext } from '#kit/context.ts';
import { ApiError, asApiError, type Rejection } from '#kit/errors.ts';
import { hasBody } from '#kit/http/body.ts';
import { sendBody, sendError, successBody } from '#kit/http/envelope.ts';
import { REQUEST_ID_HEADER, requestIdOf } from '#kit/http/request-id.ts';
import { addResponseHeader } from '#kit/http/response-headers.ts';
import { splitTarget } from '#kit/http/target.ts';
import { readQuery } from '#kit/http/validate.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import { PRINCIPAL_HEADER, type Principal, signPrincipal } from '#kit/security/principal.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import type { Route } from '#proto/rest/route.ts';
import { type Awaitable, andThen } from './and-then.ts';
import { Admission, type Held } from './downstream/admission.ts';
import { type Address, type AddressList, clientAddress, networkOf, peerAddress } from './downstream/client-address.ts';
import type { ClientConnections } from './downstream/client-connections.ts';
import { expectsContinue } from './downstream/expectation.ts';
import { isLast, stripReserved } from './downstream/headers.ts';
import { limitUnreadBody } from './downstream/lingering-close.ts';
import { PipelineQueue } from './downstream/pipeline-queue.ts';
import type { KeyUsage } from './keys/usage.ts';
import type { Limiter } from './limits/limiter.ts';
import { checkAllowlist } from './steps/allowlist.ts';
import type { Authenticate } from './steps/authenticate.ts';
import { announceDeprecation } from './steps/deprecation.ts';
import { closesConnection, guard } from './steps/guard.ts';
import { checkGuild } from './steps/guild.ts';
import { checkLimits } from './steps/limit.ts';
import type { Match, Matcher } from './steps/match.ts';
import { checkScope, scopesOf } from './steps/scope.ts';
import type { GatewayEvents } from './telemetry/telemetry.ts';
import { type Proxy, WaitEnded } from './upstream/proxy.ts';

export interface PipelineParts {
  matcher: Matcher;
  authenticate: Authenticate;
  usage: KeyUsage;
  limiter: Limiter;
  proxy: Proxy;
  /** Answers the gateway's own routes; `response.locals.grant` is the caller's. */
  ownAnswers: (request: IncomingMessage, response: ServerResponse) => void;
  /** Paths that need no key and count towards no limit. */
  publicPaths: readonly string[];
  trustedProxies: AddressList;
  connections: ClientConnections;
  /** Of requests in flight; as many may wait behind others of their connections. */
  maxInFlight: number;
  maxWaitingPolls: number;
  ring: KeyRing;
  clock: Clock;
  events: GatewayEvents;
}

/** A request and all that is known of it. */
interface UnderWay extends Held {
  request: IncomingMessage;
  response: ServerResponse;
  /** Apart from the rest: what is opened for a request, such as a connection that is kept, holds its context on. */
  context: RequestContext;
  /** X-Forwarded-For as it came. */
  forwarded: string | undefined;
  /** The caller's, once it was found. */
  address: Address | undefined;
  /** performance.now() when its turn came. */
  started: number;
  /** How long a service worked on it, also where it failed. */
  upstreamMs: number;
}

/** The ordered steps that every request takes (contract, section 2). */
export class Pipeline {
  /** How many requests the gateway works on now. */
  readonly admission: Admission;
  readonly #parts: PipelineParts;
  readonly #turns;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.admission = new Admission(parts);
    this.#turns = new PipelineQueue(parts.maxInFlight);
  }

  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    const requestId = requestIdOf(oneHeader(request, REQUEST_ID_HEADER));
    const context = { requestId, route: 'none' };
    // Read before anything is taken away: what `Connection` names is, and no caller can have its address forgotten.
    const forwarded = oneHeader(request, 'x-forwarded-for');
    const underWay: UnderWay = {
      request,
      response,
      context,
      forwarded,
      address: undefined,
      slot: 'none',
      sharedBy: undefined,
      isPoll: false,
      started: 0,
      upstreamMs: 0,
    };
    addResponseHeader(response, REQUEST_ID_HEADER, requestId);
    limitUnreadBody(request, response);
    this.#turns.take(request, response, {
      begin: () => this.#begin(underWay),
      network: () => networkOf(this.#callerAddress(underWay)),
    });
  };

  #begin(underWay: UnderWay): void {
    // A fault in the rest of its body was its answer while it waited.
    if (underWay.response.writableEnded) return;
    underWay.started = performance.now();
    requestContext.run(underWay.context, () => {
      const refusal = this.#take(underWay);
      const end = (found: Rejection) => this.#end(underWay, found);
      if (refusal instanceof Promise) void refusal.then(end, (thrown) => end(asApiError(thrown)));
      else end(refusal);
    });
  }

  #end(underWay: UnderWay, refusal: Rejection): void {
    const { request, response, context, started, upstreamMs } = underWay;
    try {
      if (refusal) sendError(response, refusal, expectsContinue(request) ? ['connection', 'close'] : []);
      // The response is written, or there is nobody to write one for: whether it is read is its connection's business.
      this.admission.leave(underWay);
      this.#parts.events.answered(request, response, context, { started, upstreamMs, refusal });
    } catch (error) {
      // Nobody else catches it: it would end the process, and with it all other requests.
      response.destroy();
      this.admission.leave(underWay);
      this.#parts.events.failed(error);
    }
  }

  /** Takes a request through the steps; what one of them throws refuses it too. */
  #take(underWay: UnderWay): Awaitable<Rejection> {
    try {
      return this.#steps(underWay);
    } catch (thrown) {
      return asApiError(thrown);
    }
  }

  #steps(underWay: UnderWay): Awaitable<Rejection> {
    const { request, response } = underWay;
    const { matcher, authenticate } = this.#parts;
    const malformed = guard(request);
    if ((malformed && closesConnection(malformed)) || isLast(request.headers)) {
      addResponseHeader(response, 'connection', 'close');
    }
    if (malformed) return malformed;
    stripReserved(request);
    const { path, query } = splitTarget(request.url ?? '');
    if (this.#parts.publicPaths.includes(path)) return this.#answerHere(underWay, undefined);
    const match = matcher.match(request.method ?? '', path);
    if (match instanceof ApiError) return match;
    underWay.context.route = match.route.name;
    announceDeprecation(match.route, response);
    const overload = this.admission.enter(underWay);
    if (overload) return overload;
    const address = () => this.#callerAddress(underWay);
    const found = authenticate.run({ request, query, response, address });
    const grant = found instanceof Promise ? this.admission.whileUnauthenticated(networkOf(address()), found) : found;
    return andThen(grant, (known) => (known instanceof ApiError ? known : this.#authorise(underWay, match, known)));
  }

  #authorise(underWay: UnderWay, match: Match, grant: KeyGrant): Awaitable<Rejection> {
    const { limiter, clock, events, connections } = this.#parts;
    const { request, response } = underWay;
    underWay.context.keyId = grant.keyId;
    events.authenticated(grant);
    if (!connections.authenticated(request.socket, grant.guildId)) addResponseHeader(response, 'connection', 'close');
    const waitMs = waitMsOf(match.route, splitTarget(request.url ?? '').query);
    const refusal =
      checkAllowlist(grant, () => this.#clientAddress(underWay)) ??
      checkGuild(match, request.headers['x-guild-id'], grant.guildId) ??
      checkScope(match.route, grant) ??
      this.admission.share(underWay, grant.guildId, waitMs > 0) ??
      checkLimits(match.route, grant, limiter, clock, response);
    return andThen(refusal, (found) => found ?? this.#admit(underWay, match.route, grant, waitMs));
  }

  #admit(underWay: UnderWay, route: Route, grant: KeyGrant, waitMs: number): Awaitable<Rejection> {
    const { response } = underWay;
    this.#parts.usage.record(grant);
    // A fault in the rest of its body may have been the answer meanwhile.
    if (response.writableEnded) return undefined;
    if (route.service === 'gateway') return this.#answerHere(underWay, grant);
    return this.#receive(underWay) ?? this.#pass(underWay, route, grant, waitMs);
  }

  /** A body that is still arriving does so at its client's pace, and does not count as in flight until it is there. */
  #receive(underWay: UnderWay): Rejection {
    const { request } = underWay;
    if (request.complete || !hasBody(request)) return undefined;
    const overload = this.admission.receive(underWay);
    if (!overload) request.once('end', () => this.admission.received(underWay));
    return overload;
  }

  /** Hands the request to its service together with the sealed principal. */
  async #pass(underWay: UnderWay, route: Route, grant: KeyGrant, waitMs: number): Promise<undefined> {
    const { proxy, ring, clock } = this.#parts;
    const { request, response } = underWay;
    const { requestId } = underWay.context;
    const { keyId, guildId, legacy } = grant;
    const principal: Principal = { keyId, guildId, scopes: scopesOf(grant), legacy, requestId };
    const sealedFor = { audience: route.service, method: request.method ?? '', target: request.url ?? '' };
    request.headers[REQUEST_ID_HEADER] = requestId;
    request.headers[PRINCIPAL_HEADER] = signPrincipal(ring, principal, sealedFor, clock.now());
    if (waitMs > 0) {
      this.admission.wait(underWay);
      endWithCaller(request, response);
    }
    // Only now: a caller whose request is refused need not send its body.
    if (expectsContinue(request)) response.writeContinue();
    const started = performance.now();
    try {
      await proxy.forward(request, response, route.service, waitMs);
    } catch (error) {
      if (!(error instanceof WaitEnded) || !route.longPoll) throw error;
      sendBody(response, route.status, successBody(route.status, route.message, route.longPoll.whenEnded));
    } finally {
      underWay.upstreamMs = performance.now() - started;
    }
  }

  #answerHere({ request, response }: UnderWay, grant: KeyGrant | undefined): undefined {
    Object.assign(response, { locals: { grant } });
    this.#parts.ownAnswers(request, response);
  }

  /** Whose requests are counted together: the client's, or the peer's where what was forwarded is malformed. */
  #callerAddress(underWay: UnderWay): Address | undefined {
    return this.#clientAddress(underWay) ?? peerAddress(underWay.request.socket.remoteAddress ?? '');
  }

  #clientAddress(underWay: UnderWay): Address | undefined {
    const { request, forwarded } = underWay;
    underWay.address ??= clientAddress(request.socket.remoteAddress, forwarded, this.#parts.trustedProxies);
    return underWay.address;
  }
}

/** A caller that has ended its side may still read; one that waits for commands has most likely gone. */
function endWithCaller({ socket }: IncomingMessage, response: ServerResponse): void {
  const gone = () => void socket.destroy();
  if (socket.readableEnded) return gone();
  socket.once('end', gone);
  // Requests behind it on the connection are answered as ever.
  response.once('close', () => socket.off('end', gone));
}

function oneHeader(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}

/** How long a long poll asks to wait; what the service will refuse is 0. */
function waitMsOf({ longPoll, query: schema }: Route, query: string): number {
  if (!longPoll || query === '') return 0;
  const wait = schema?.shape['wait']?.safeParse(readQuery(query).value['wait']).data;
  return typeof wait === 'number' ? wait * 1000 : 0;
}

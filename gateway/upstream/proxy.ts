import { Agent, type IncomingMessage, type ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ApiError, isServerError } from '#kit/errors.ts';
import type { Breaker, Breakers } from '#kit/resilience/breaker.ts';
import { RetryBudget } from '#kit/resilience/retry-budget.ts';
import type { InternalTls } from '#kit/security/internal-tls.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { keepForwarded } from '../downstream/headers.ts';
import { Attempt, attemptOf, ClientDisconnected, ClientGaveUp, canRetry, setAttempt } from './attempt.ts';
import { Connections, IDLE_MS, limitAge, MAX_IDLE } from './connections.ts';
import { isPlainGet, sendGet } from './get.ts';
import { createMiddleware, type Middleware } from './middleware.ts';

/** The middleware's connections, with the same rules as those of Connections. */
const AGENT = { keepAlive: true, scheduling: 'fifo', maxFreeSockets: MAX_IDLE, timeout: IDLE_MS } as const;

interface Upstream {
  name: string;
  /** Carries plain GETs. */
  connections: Connections;
  /** Carries all other requests. */
  middleware: Middleware;
  breaker: Breaker;
  budget: RetryBudget;
}

/** Thrown if the gateway ended a waiting poll before the service responded. The request to the service is aborted. */
export class WaitEnded extends Error {
  constructor() {
    super('the poll was ended by the gateway');
    this.name = 'WaitEnded';
  }
}

/** The timeout of a probe of a service whose breaker is open. */
const PROBE_MS = 1_000;

/** The time that a service may take to respond after the wait of a poll (contract, section 1). */
const AFTER_WAIT_MS = 5_000;

export interface ProxyOptions {
  /** Base URLs by service name. */
  services: Record<string, string>;
  timeoutMs: number;
  breakers: Breakers;
  metrics: Metrics;
  /** Used for services whose URL begins with https. */
  tls?: InternalTls | undefined;
}

/** Forwards requests to the services over persistent connections, and streams bodies unchanged. */
export class Proxy implements Part {
  readonly name = 'proxy';
  readonly #agent: Agent;
  readonly #upstreams: Record<string, Upstream>;
  readonly #timeoutMs: number;
  readonly #retries;
  /** Functions that end each waiting poll. */
  readonly #waits = new Set<() => void>();
  #isDraining = false;

  constructor({ services, timeoutMs, breakers, metrics, tls }: ProxyOptions) {
    requireAddresses(services);
    this.#agent = limitAge(tls?.createAgent(AGENT) ?? new Agent(AGENT));
    this.#timeoutMs = timeoutMs;
    const help = 'Requests that were sent to a service again because their connection failed';
    this.#retries = metrics.counterOf('gateway_retries_total', help, 'upstream', Object.keys(services));
    this.#upstreams = Object.fromEntries(
      Object.entries(services).map(([name, target]) => {
        const breaker = breakers.create(`${name} (http)`, isOutage);
        const middleware = createMiddleware(target, this.#agent);
        const connections = new Connections(target, tls);
        breaker.probeWith(() => connections.probe(PROBE_MS));
        return [name, { name, middleware, connections, breaker, budget: new RetryBudget() }];
      }),
    );
  }

  /**
   * Resolves once the response is written or the client has disconnected. The service may wait for `waitMs` before it
   * responds. A safe request is retried once if its connection failed before a part of the response was received; at most
   * a tenth of all requests are retried.
   * Rejects before a response was begun: UNAVAILABLE, TIMEOUT, REQUEST_TIMEOUT, PAYLOAD_TOO_LARGE for a streamed body, or
   * WaitEnded for a poll while the gateway drains.
   */
  async forward(request: IncomingMessage, response: ServerResponse, service: string, waitMs: number): Promise<void> {
    const upstream = this.#upstreams[service] as Upstream;
    keepForwarded(request);
    try {
      // The breaker does not count polls, because their duration says nothing about the service.
      if (waitMs > 0) await this.#wait(upstream, request, response, waitMs + AFTER_WAIT_MS);
      else await upstream.breaker.run(() => this.#exchange(upstream, request, response, this.#timeoutMs));
    } catch (error) {
      if (!(error instanceof ClientDisconnected || error instanceof ClientGaveUp)) throw error;
    }
  }

  /** Ends waiting polls with a response, because they would otherwise be cut off at the end of the shutdown. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    for (const end of this.#waits) end();
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    for (const { connections } of Object.values(this.#upstreams)) connections.close();
  }

  async #wait(
    upstream: Upstream,
    request: IncomingMessage,
    response: ServerResponse,
    timeoutMs: number,
  ): Promise<void> {
    if (this.#isDraining) throw new WaitEnded();
    upstream.breaker.requireClosed();
    // A response that has begun may hold commands and will end soon, so it is not cut off.
    const end = () => {
      const attempt = attemptOf(request);
      if (!attempt?.hasResponse) attempt?.fail(new WaitEnded());
    };
    this.#waits.add(end);
    try {
      await this.#exchange(upstream, request, response, timeoutMs);
    } finally {
      this.#waits.delete(end);
    }
  }

  async #exchange(
    upstream: Upstream,
    request: IncomingMessage,
    response: ServerResponse,
    timeoutMs: number,
  ): Promise<void> {
    const started = performance.now();
    upstream.budget.called();
    try {
      await send(upstream, request, response, timeoutMs);
    } catch (error) {
      if (!canRetry(attemptOf(request), request, response) || !upstream.budget.take()) throw error;
      this.#retries.inc({ upstream: upstream.name });
      // Other connections to the same failed service close in this turn. Without the pause the retry might use one of them.
      await nextTurn();
      await send(upstream, request, response, timeoutMs - (performance.now() - started));
    }
  }
}

/** Sends a request once. Resolves when its response is written. */
function send(
  { connections, middleware }: Upstream,
  request: IncomingMessage,
  response: ServerResponse,
  timeoutMs: number,
): Promise<void> {
  // 'close' was emitted before the attempt could listen.
  if (response.destroyed) throw new ClientDisconnected();
  const attempt = new Attempt(request, response, timeoutMs);
  setAttempt(request, attempt);
  if (isPlainGet(request)) sendGet(connections, attempt, request, response);
  else void middleware(request, response, (cause) => attempt.connectionFailed(cause));
  return attempt.ended;
}

/** Throws at start if a route's service has no address, because otherwise each request to it would fail. */
function requireAddresses(services: Readonly<Record<string, string>>): void {
  const missing = new Set(ROUTES.map(({ service }) => service).filter((name) => name !== 'gateway' && !services[name]));
  if (missing.size > 0) throw new Error(`the gateway has no address of ${[...missing].join(', ')}`);
}

/** An error that rejects the request is no failure of the service. */
function isOutage(error: unknown): boolean {
  return !(error instanceof ApiError) || isServerError(error);
}

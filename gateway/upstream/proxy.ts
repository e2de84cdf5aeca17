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
import { Attempt, attemptOf, CallerGone, mayRepeat, setAttempt, WaitedInVain } from './attempt.ts';
import { Connections, IDLE_MS, limitAge, MOST_FREE } from './connections.ts';
import { isPlainGet, sendGet } from './get.ts';
import { createMiddleware, type Middleware } from './middleware.ts';

/** For the middleware, kept as Connections are. */
const AGENT = { keepAlive: true, scheduling: 'fifo', maxFreeSockets: MOST_FREE, timeout: IDLE_MS } as const;

interface Upstream {
  name: string;
  /** For plain GETs. */
  connections: Connections;
  /** For all other requests. */
  middleware: Middleware;
  breaker: Breaker;
  budget: RetryBudget;
}

/** Thrown for a caller whose wait was ended: the service was told so, and has answered nothing. */
export class WaitEnded extends Error {
  constructor() {
    super('the wait was ended');
    this.name = 'WaitEnded';
  }
}

/** For a service to respond to a probe while its breaker is open. */
const PROBE_MS = 1_000;

/** What a service may take to answer after it has waited (contract, section 1). */
const AFTER_WAIT_MS = 5_000;

export interface ProxyOptions {
  /** Base URLs by service name. */
  services: Record<string, string>;
  timeoutMs: number;
  breakers: Breakers;
  metrics: Metrics;
  /** Shown to services whose URL begins with https. */
  tls?: InternalTls | undefined;
}

/** Passes requests on to the services over kept connections; bodies go through untouched. */
export class Proxy implements Part {
  readonly name = 'proxy';
  readonly #agent: Agent;
  readonly #upstreams: Record<string, Upstream>;
  readonly #timeoutMs: number;
  readonly #retries;
  /** Ends the wait of each caller who waits. */
  readonly #waits = new Set<() => void>();
  #isDraining = false;

  constructor({ services, timeoutMs, breakers, metrics, tls }: ProxyOptions) {
    requireAddresses(services);
    this.#agent = limitAge(tls?.createAgent(AGENT) ?? new Agent(AGENT));
    this.#timeoutMs = timeoutMs;
    const help = 'Requests passed to a service a second time';
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
   * Resolves once the answer is written or the caller has gone. The service may wait for `waitMs` before it answers. A
   * request that can be repeated and whose connection was lost before a byte of the answer came is passed on once more,
   * a tenth of all at most.
   * UNAVAILABLE, TIMEOUT, REQUEST_TIMEOUT, PAYLOAD_TOO_LARGE for a streamed body, or WaitEnded while this drains: then
   * nothing was answered yet.
   */
  async forward(request: IncomingMessage, response: ServerResponse, service: string, waitMs: number): Promise<void> {
    const upstream = this.#upstreams[service] as Upstream;
    keepForwarded(request);
    try {
      // How long a poll takes says nothing of the service, so the breaker does not count it.
      if (waitMs > 0) await this.#wait(upstream, request, response, waitMs + AFTER_WAIT_MS);
      else await upstream.breaker.run(() => this.#exchange(upstream, request, response, this.#timeoutMs));
    } catch (error) {
      if (!(error instanceof CallerGone || error instanceof WaitedInVain)) throw error;
    }
  }

  /** Whoever waits is told so now, and not cut off when the time to stop is over. */
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
    // What the service has begun to answer may hold commands, and takes no longer.
    const end = () => {
      const attempt = attemptOf(request);
      if (!attempt?.isAnswered) attempt?.fail(new WaitEnded());
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
      await pass(upstream, request, response, timeoutMs);
    } catch (error) {
      if (!mayRepeat(attemptOf(request), request, response) || !upstream.budget.take()) throw error;
      this.#retries.inc({ upstream: upstream.name });
      // What was lost with the same service is heard first, or the agent would hand out another connection to it.
      await nextTurn();
      await pass(upstream, request, response, timeoutMs - (performance.now() - started));
    }
  }
}

/** Sends a request once; resolves when its answer is written. */
function pass(
  { connections, middleware }: Upstream,
  request: IncomingMessage,
  response: ServerResponse,
  timeoutMs: number,
): Promise<void> {
  // Its end was told before anybody listened.
  if (response.destroyed) throw new CallerGone();
  const attempt = new Attempt(request, response, timeoutMs);
  setAttempt(request, attempt);
  if (isPlainGet(request)) sendGet(connections, attempt, request, response);
  else void middleware(request, response, (cause) => attempt.broke(cause));
  return attempt.ended;
}

/** A row of the table that leads nowhere would be a fault for each of its callers, and not for whoever wrote it. */
function requireAddresses(services: Readonly<Record<string, string>>): void {
  const missing = new Set(ROUTES.map(({ service }) => service).filter((name) => name !== 'gateway' && !services[name]));
  if (missing.size > 0) throw new Error(`the gateway has no address of ${[...missing].join(', ')}`);
}

/** Refusals of the request are no failure of the service. */
function isOutage(error: unknown): boolean {
  return !(error instanceof ApiError) || isServerError(error);
}

import { Agent, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { createProxyMiddleware, type Plugin } from 'http-proxy-middleware';
import { BODY_LIMIT } from '#kit/body.ts';
import type { Breaker, Breakers } from '#kit/breaker.ts';
import { ApiError, isFault } from '#kit/errors.ts';
import type { Part } from '#kit/lifecycle.ts';
import { ROUTES } from '#proto/rest/index.ts';

/** Less than services keep a connection for, so that none is closed under a request that is just being sent. */
const IDLE_MS = 60_000;

type Middleware = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => unknown;

interface Upstream {
  middleware: Middleware;
  breaker: Breaker;
}

/** Thrown for a caller whose wait was ended: the service was told so, and has answered nothing. */
export class WaitEnded extends Error {
  /** How long the caller has waited. */
  readonly waitedMs: number;

  constructor(waitedMs: number) {
    super('the wait was ended');
    this.name = 'WaitEnded';
    this.waitedMs = waitedMs;
  }
}

/** A request on its way to a service. */
interface Exchange {
  /** Known once it has a connection. */
  outgoing?: ClientRequest;
  /** Whether the service has begun to answer. */
  isAnswered: boolean;
  fail: (error: ApiError | WaitEnded) => void;
  /** The caller has sent more: the time of the service runs from here. */
  heard: () => void;
}

/** What a service may take to answer after it has waited (contract, section 1). */
const AFTER_WAIT_MS = 5_000;

export interface ProxyOptions {
  /** Base URLs by service name. */
  services: Record<string, string>;
  timeoutMs: number;
  breakers: Breakers;
}

/** Passes requests on to the services over kept connections; bodies go through untouched. */
export class Proxy implements Part {
  readonly name = 'proxy';
  readonly #agent = new Agent({ keepAlive: true, scheduling: 'lifo', maxFreeSockets: 256, timeout: IDLE_MS });
  readonly #upstreams: Record<string, Upstream>;
  readonly #timeoutMs: number;
  readonly #exchanges = new WeakMap<IncomingMessage, Exchange>();
  /** Ends the wait of each caller who waits. */
  readonly #waits = new Set<() => void>();
  #isDraining = false;

  constructor({ services, timeoutMs, breakers }: ProxyOptions) {
    requireAddresses(services);
    this.#timeoutMs = timeoutMs;
    this.#upstreams = Object.fromEntries(
      Object.entries(services).map(([name, target]) => [
        name,
        { middleware: this.#middleware(target), breaker: breakers.create(`${name} (http)`, isOutage) },
      ]),
    );
  }

  /**
   * Resolves with the milliseconds that the service took, once the answer is written or the caller has gone. The
   * service may wait for `waitMs` before it answers.
   * UNAVAILABLE, TIMEOUT, REQUEST_TIMEOUT, or PAYLOAD_TOO_LARGE for a streamed body, and WaitEnded while this drains:
   * then nothing was answered yet.
   */
  forward(request: IncomingMessage, response: ServerResponse, service: string, waitMs: number): Promise<number> {
    const { middleware, breaker } = this.#upstreams[service] as Upstream;
    // The one call that tries an open breaker holds up all others: no poll, which would do so for as long as it waits.
    if (waitMs > 0) return this.#exchange(middleware, request, response, waitMs + AFTER_WAIT_MS, true);
    return breaker.run(() => this.#exchange(middleware, request, response, this.#timeoutMs, false));
  }

  /** Whoever waits is told so now, and not cut off when the time to stop is over. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    for (const end of this.#waits) end();
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
  }

  #exchange(
    middleware: Middleware,
    request: IncomingMessage,
    response: ServerResponse,
    timeoutMs: number,
    mayWait: boolean,
  ): Promise<number> {
    if (mayWait && this.#isDraining) return Promise.reject(new WaitEnded(0));
    const started = performance.now();
    return new Promise((resolve, reject) => {
      let deadline: NodeJS.Timeout | undefined;
      const settle = () => {
        exchange.heard = () => undefined;
        clearTimeout(deadline);
        this.#waits.delete(end);
      };
      const fail = (error: ApiError | WaitEnded) => {
        settle();
        exchange.outgoing?.destroy();
        this.#exchanges.delete(request);
        reject(error);
      };
      // What the service has begun to answer may hold commands, and takes no longer.
      const end = () => {
        if (!exchange.isAnswered) fail(new WaitEnded(performance.now() - started));
      };
      // No service is slow because its caller is: the time runs from the caller's last byte, and is the caller's
      // own while there are more to come.
      const late = () => fail(new ApiError(request.complete ? 'TIMEOUT' : 'REQUEST_TIMEOUT'));
      const heard = () => {
        clearTimeout(deadline);
        deadline = setTimeout(late, timeoutMs);
      };
      const exchange: Exchange = { isAnswered: false, fail, heard };
      if (mayWait) this.#waits.add(end);
      heard();
      this.#exchanges.set(request, exchange);
      response.once('close', () => {
        settle();
        resolve(performance.now() - started);
      });
      middleware(request, response, (cause) => fail(new ApiError('UNAVAILABLE', { cause })));
    });
  }

  #middleware(target: string): Middleware {
    return createProxyMiddleware({
      target,
      agent: this.#agent,
      ejectPlugins: true,
      plugins: [this.#follow],
    });
  }

  readonly #follow: Plugin = (proxy) => {
    proxy.on('proxyReq', (outgoing, request) => {
      const exchange = this.#exchanges.get(request);
      // It failed before it had a connection.
      if (!exchange) return void outgoing.destroy();
      exchange.outgoing = outgoing;
      // Not before the body is piped on in this same turn: a listener alone would let its first bytes go by.
      request.on('data', () => exchange.heard());
      if (request.headers['transfer-encoding']) {
        limitStream(request, () => exchange.fail(new ApiError('PAYLOAD_TOO_LARGE')));
      }
    });
    proxy.on('proxyRes', (incoming, request, response) => {
      const exchange = this.#exchanges.get(request);
      if (exchange) exchange.isAnswered = true;
      // The connection to the service is not the caller's.
      delete incoming.headers['keep-alive'];
      incoming.headers.connection = String(response.getHeader('connection') ?? 'keep-alive');
    });
    proxy.on('error', (cause, request) => {
      if (request) this.#exchanges.get(request)?.fail(new ApiError('UNAVAILABLE', { cause }));
    });
  };
}

/** A row of the table that leads nowhere would be a fault for each of its callers, and not for whoever wrote it. */
function requireAddresses(services: Readonly<Record<string, string>>): void {
  const missing = new Set(ROUTES.map(({ service }) => service).filter((name) => name !== 'gateway' && !services[name]));
  if (missing.size > 0) throw new Error(`the gateway has no address of ${[...missing].join(', ')}`);
}

/** Refusals of the request are no failure of the service. */
function isOutage(error: unknown): boolean {
  return !(error instanceof ApiError) || isFault(error);
}

/** Chunked bodies tell their length only as they come. */
function limitStream(request: IncomingMessage, exceeded: () => void): void {
  let length = 0;
  request.on('data', function count(chunk: Buffer) {
    length += chunk.length;
    if (length <= BODY_LIMIT) return;
    request.off('data', count);
    request.unpipe();
    request.resume();
    exceeded();
  });
}

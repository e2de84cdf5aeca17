import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ClientDisconnected } from '#kit/downstream/client-disconnected.ts';
import { keepForwarded } from '#kit/downstream/headers.ts';
import { receiveBody } from '#kit/downstream/request-body.ts';
import { isOutage } from '#kit/errors.ts';
import { hasBody } from '#kit/http/body.ts';
import type { Breaker, Breakers } from '#kit/resilience/breaker.ts';
import { RetryBudget } from '#kit/resilience/retry-budget.ts';
import { SingleFlight } from '#kit/resilience/single-flight.ts';
import type { InternalTls } from '#kit/security/internal-tls.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { type EventRelay, StreamEnded } from '../streams/event-relay.ts';
import { Attempt, ClientGaveUp, canRetry } from './attempt.ts';
import { Connections } from './connections.ts';
import { type ReceivedRequest, sendRequest } from './exchange.ts';

interface Upstream {
  name: string;
  connections: Connections;
  breaker: Breaker;
  budget: RetryBudget;
}

/** A request that is being forwarded. */
interface Forwarding extends ReceivedRequest {
  /** The current or last attempt. */
  attempt: Attempt | undefined;
}

/** Thrown if the gateway ended a waiting poll before the service responded. The request to the service is aborted. */
export class WaitEnded extends Error {
  constructor() {
    super('the poll was ended by the gateway');
    this.name = 'WaitEnded';
  }
}

/** The timeout of a probe of a service whose breaker is open, or on which a client has given up. */
const PROBE_MS = 1_000;

/** The time that a service may take to respond after the wait of a poll. */
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

/** Forwards requests to the services over persistent connections, with bodies unchanged. */
export class Proxy implements Part {
  readonly name = 'proxy';
  readonly #upstreams: Record<string, Upstream>;
  readonly #timeoutMs: number;
  readonly #retries;
  /** The probes of services on which clients have given up, by service. */
  readonly #probes = new SingleFlight<boolean>();
  /** Functions that end each waiting poll. */
  readonly #waits = new Set<() => void>();
  #isDraining = false;

  constructor({ services, timeoutMs, breakers, metrics, tls }: ProxyOptions) {
    requireAddresses(services);
    this.#timeoutMs = timeoutMs;
    const help = 'Requests that were sent to a service again because their connection failed';
    this.#retries = metrics.counterOf('gateway_retries_total', help, 'upstream', Object.keys(services));
    this.#upstreams = Object.fromEntries(
      Object.entries(services).map(([name, target]) => {
        const breaker = breakers.create(`${name} (http)`, isOutage);
        const connections = new Connections(target, tls);
        breaker.probeWith(() => connections.probe(PROBE_MS));
        return [name, { name, connections, breaker, budget: new RetryBudget() }];
      }),
    );
  }

  /**
   * Reads the body and sends the request. Resolves once the response is written or the client has disconnected. The
   * service may wait for `waitMs` before it responds. If the connection failed before a part of the response was received,
   * the request is retried once, provided that it is safe or was not sent; at most a tenth of all requests are retried.
   * Rejects before a response was begun: UNAVAILABLE, TIMEOUT, REQUEST_TIMEOUT, PAYLOAD_TOO_LARGE for a chunked body, or
   * WaitEnded for a poll while the gateway drains.
   */
  async forward(request: IncomingMessage, response: ServerResponse, service: string, waitMs: number): Promise<void> {
    const upstream = this.#upstreams[service] as Upstream;
    keepForwarded(request);
    try {
      const forwarding: Forwarding = { request, response, body: undefined, attempt: undefined };
      if (hasBody(request)) {
        // While the breaker is open, the request is rejected before its body has arrived.
        upstream.breaker.requireClosed();
        forwarding.body = await receiveBody(request, response, { pauseMs: this.#timeoutMs });
      }
      // The breaker does not count polls, because their duration says nothing about the service.
      if (waitMs > 0) await this.#wait(upstream, forwarding, waitMs + AFTER_WAIT_MS);
      else await upstream.breaker.run(() => this.#counted(upstream, forwarding));
    } catch (error) {
      if (!(error instanceof ClientDisconnected || error instanceof ClientGaveUp)) throw error;
    }
  }

  /**
   * Sends a request for a stream of events. Resolves once the stream has begun, or another response is written, or the
   * client has disconnected. The breaker does not count it. Rejects like `forward`, and with StreamEnded if the stream was
   * ended before it began.
   */
  async openStream(received: ReceivedRequest & { relay: EventRelay }, service: string): Promise<void> {
    const upstream = this.#upstreams[service] as Upstream;
    keepForwarded(received.request);
    upstream.breaker.requireClosed();
    try {
      await this.#exchange(upstream, { ...received, attempt: undefined }, this.#timeoutMs);
    } catch (error) {
      if (error instanceof StreamEnded && error.end === 'client') return;
      if (!(error instanceof ClientDisconnected || error instanceof ClientGaveUp)) throw error;
    }
  }

  /** Ends waiting polls with a response, because they would otherwise be cut off at the end of the shutdown. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    for (const end of this.#waits) end();
  }

  async stop(): Promise<void> {
    for (const { connections } of Object.values(this.#upstreams)) connections.close();
  }

  async #wait(upstream: Upstream, forwarding: Forwarding, timeoutMs: number): Promise<void> {
    if (this.#isDraining) throw new WaitEnded();
    upstream.breaker.requireClosed();
    // A response that has begun may hold commands and will end soon, so it is not cut off.
    const end = () => {
      const { attempt } = forwarding;
      if (!attempt?.hasResponse) attempt?.fail(new WaitEnded());
    };
    this.#waits.add(end);
    try {
      await this.#exchange(upstream, forwarding, timeoutMs);
    } finally {
      this.#waits.delete(end);
    }
  }

  /**
   * Sends a request whose outcome the breaker counts. A client that has given up is a failure of the service only if the
   * service does not respond to a probe either: the clients of one guild, or a slow platform behind a route, must not open
   * the breaker for everybody.
   */
  async #counted(upstream: Upstream, forwarding: Forwarding): Promise<void> {
    try {
      await this.#exchange(upstream, forwarding, this.#timeoutMs);
    } catch (error) {
      if (!(error instanceof ClientGaveUp) || !(await this.#responds(upstream))) throw error;
      throw new ClientDisconnected();
    }
  }

  #responds({ name, connections }: Upstream): Promise<boolean> {
    return this.#probes.run(name, () =>
      connections.probe(PROBE_MS).then(
        () => true,
        () => false,
      ),
    );
  }

  async #exchange(upstream: Upstream, forwarding: Forwarding, timeoutMs: number): Promise<void> {
    const started = performance.now();
    upstream.budget.called();
    try {
      await send(upstream, forwarding, timeoutMs);
    } catch (error) {
      const { attempt, request, response } = forwarding;
      if (!canRetry(attempt, request, response) || !upstream.budget.take()) throw error;
      this.#retries.inc({ upstream: upstream.name });
      // Other connections to the same failed service close in this turn. Without the pause the retry might use one of them.
      await nextTurn();
      await send(upstream, forwarding, timeoutMs - (performance.now() - started));
    }
  }
}

/** Sends a request once. Resolves when its response is written. */
function send({ connections }: Upstream, forwarding: Forwarding, timeoutMs: number): Promise<void> {
  const { request, response } = forwarding;
  // 'close' was emitted before the attempt could listen.
  if (response.destroyed) throw new ClientDisconnected();
  const attempt = new Attempt(request, response, timeoutMs);
  forwarding.attempt = attempt;
  forwarding.relay?.opening((error) => attempt.fail(error));
  sendRequest(connections, attempt, forwarding);
  return attempt.ended;
}

/** Throws at start if a route's service has no address, because otherwise each request to it would fail. */
function requireAddresses(services: Readonly<Record<string, string>>): void {
  const missing = new Set(ROUTES.map(({ service }) => service).filter((name) => name !== 'gateway' && !services[name]));
  if (missing.size > 0) throw new Error(`the gateway has no address of ${[...missing].join(', ')}`);
}

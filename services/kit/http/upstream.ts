import { Agent, type AgentOptions, type IncomingMessage, request as sendRequest } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { ClientDisconnected } from '../downstream/client-disconnected.ts';
import { ApiError, isOutage } from '../errors.ts';
import type { Breaker, Breakers } from '../resilience/breaker.ts';
import { within } from '../resilience/deadline.ts';
import type { InternalTls } from '../security/internal-tls.ts';
import type { Part } from '../service/lifecycle.ts';
import { type ServiceAddress, serviceAddress } from './service-address.ts';

/** The timeout of a probe of a service whose breaker is open. */
const PROBE_MS = 1_000;
/** The maximum number of connections to one service. */
const MAX_CONNECTIONS = 100;
/** Shorter than the keep-alive of the services, so that they do not close a connection while a request is being sent. */
const IDLE_MS = 30_000;

export interface UpstreamRequest {
  method: string;
  target: string;
  headers: Record<string, string>;
  body: Buffer | undefined;
  /** Aborted if the response is no longer wanted, such as after the client has disconnected; ClientDisconnected is thrown then. */
  signal?: AbortSignal;
  /** True for a response that lasts: it gets a connection of its own. */
  isStream?: boolean;
}

export interface UpstreamOptions {
  name: string;
  /** The base URL of the service. */
  url: string;
  timeoutMs: number;
  breakers: Breakers;
  tls: InternalTls | undefined;
}

/** The HTTP connections to one service, with a circuit breaker. */
export class Upstream implements Part {
  readonly name: string;
  readonly #address: ServiceAddress;
  readonly #hostHeader: string;
  readonly #agent: Agent;
  /** Connections of streams, which are not used again. */
  readonly #streamAgent: Agent;
  readonly #breaker: Breaker;
  readonly #timeoutMs: number;

  constructor({ name, url, timeoutMs, breakers, tls }: UpstreamOptions) {
    const parsed = new URL(url);
    this.name = `connections to ${name}`;
    this.#address = serviceAddress(parsed);
    this.#hostHeader = parsed.host;
    const agent = (options: AgentOptions) =>
      parsed.protocol === 'https:' && tls ? new TlsAgent(tls, options) : new Agent(options);
    this.#agent = agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS, timeout: IDLE_MS });
    this.#streamAgent = agent({ keepAlive: false });
    this.#timeoutMs = timeoutMs;
    this.#breaker = breakers.create(`${name} (http)`, isOutage);
    this.#breaker.probeWith(() => this.#probe());
  }

  /**
   * Sends a request and returns the response, whose body is still to be read and has no timeout. Throws UNAVAILABLE or
   * TIMEOUT.
   */
  send(request: UpstreamRequest): Promise<IncomingMessage> {
    return this.#breaker.run(() => this.#exchange(request, async (response) => response));
  }

  /**
   * Sends a request and returns the body of the response. Throws UNAVAILABLE, TIMEOUT if the body is not complete in
   * time, or PAYLOAD_TOO_LARGE.
   */
  exchange(request: UpstreamRequest, maxBytes: number): Promise<Buffer> {
    return this.#breaker.run(() => this.#exchange(request, (response) => readBody(response, maxBytes)));
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    this.#streamAgent.destroy();
  }

  /** Sends a request and returns what `read` makes of the response. The timeout ends when `read` has finished. */
  async #exchange<Result>(
    { method, target, headers, body, signal, isStream }: UpstreamRequest,
    read: (response: IncomingMessage) => Promise<Result>,
  ): Promise<Result> {
    const length = body === undefined ? {} : { 'content-length': String(body.length) };
    const sent = sendRequest({
      ...this.#address,
      agent: isStream ? this.#streamAgent : this.#agent,
      method,
      path: target,
      headers: { ...headers, ...length, host: this.#hostHeader },
      ...(signal && { signal }),
    });
    let response: IncomingMessage | undefined;
    const timer = setTimeout(() => (response ?? sent).destroy(new ApiError('TIMEOUT')), this.#timeoutMs);
    try {
      response = await new Promise<IncomingMessage>((resolve, reject) => {
        sent.once('response', resolve);
        // The listener stays, because a request can fail after its response has begun.
        sent.on('error', reject);
        sent.end(body);
      });
      return await read(response);
    } catch (error) {
      throw failureOf(error as Error, signal);
    } finally {
      clearTimeout(timer);
    }
  }

  async #probe(): Promise<void> {
    const socket = connect(this.#address);
    try {
      await within(PROBE_MS, new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject)));
    } finally {
      socket.destroy();
    }
  }
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > maxBytes) throw new ApiError('PAYLOAD_TOO_LARGE');
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function failureOf(cause: Error, signal: AbortSignal | undefined): Error {
  if (signal?.aborted) return new ClientDisconnected();
  return cause instanceof ApiError ? cause : new ApiError('UNAVAILABLE', { cause });
}

/** Connects with mutual TLS. */
class TlsAgent extends Agent {
  readonly #tls: InternalTls;

  constructor(tls: InternalTls, options: AgentOptions) {
    super(options);
    this.#tls = tls;
  }

  override createConnection({ host, port }: { host?: string | null; port?: number | string | null }): Duplex {
    return this.#tls.connect({ host: host ?? '', port: Number(port) });
  }
}

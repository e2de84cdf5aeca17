import { createSecureContext } from 'node:tls';
import { withExtraCa } from '#kit/security/extra-ca.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { AddressRules } from './address-rules.ts';
import { type Open, PlainAgent, SecureAgent } from './agents.ts';
import type { WebhookConfig } from './config.ts';
import { openConnection } from './connect.ts';
import { DeliveryError, toDeliveryError } from './errors.ts';
import { exchange, type Received } from './exchange.ts';
import { parseProxy } from './proxy.ts';
import { dnsResolve, type Resolve } from './resolve.ts';
import { type SlotLimits, Slots } from './slots.ts';
import { type UrlRules, urlFaults } from './url-rules.ts';

/** One attempt to deliver: a POST request. */
export interface DeliveryRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** The time after which the attempt fails, from the call until the last byte of the response. */
  timeoutMs: number;
}

export interface DeliveryResult {
  /** The status of the response, also if the rest of the response failed; null without a response. */
  status: number | null;
  latencyMs: number;
  /** Why no complete response was received, in a short text for users; null after a response with any status. */
  error: string | null;
  /** The first KiB of the response's body as text. */
  answer: string;
  /** True if the cause is in this installation (it stops, is overloaded, or its proxy fails), not at the endpoint. */
  isOurFault: boolean;
}

export interface SenderOptions {
  config: WebhookConfig;
  /** Resolves host names; with the DNS servers of this machine if left out. */
  resolve?: Resolve;
  limits?: SlotLimits;
  /** How long a stop waits for deliveries in flight, in milliseconds. */
  drainMs?: number;
}

const LIMITS: SlotLimits = { max: 256, maxPerHost: 32, maxWaiting: 1_024 };
const DRAIN_MS = 8_000;
const USER_AGENT = `Guild-Data/${packageJson.version}`;
const EMPTY = Buffer.alloc(0);

/** Returns the rules for webhook URLs of a configuration. */
export function urlRules(config: WebhookConfig): UrlRules {
  return {
    allowHttp: config.WEBHOOKS_ALLOW_HTTP,
    addresses: new AddressRules(config.WEBHOOKS_ALLOWED_NETWORKS),
  };
}

/** Sends webhooks, and only to addresses that the rules permit. Connections are reused for the same host and port. */
export class Sender implements Part {
  readonly name = 'webhook sender';
  readonly #rules: UrlRules;
  readonly #agents: Record<'reusing' | 'fresh', Record<string, PlainAgent | SecureAgent>>;
  readonly #slots: Slots;
  readonly #drainMs: number;
  readonly #inFlight = new Map<AbortController, Promise<DeliveryResult>>();
  #isStopping = false;

  /** Throws a ConfigError if WEBHOOKS_CA_FILE cannot be read. */
  constructor({ config, resolve = dnsResolve(), limits = LIMITS, drainMs = DRAIN_MS }: SenderOptions) {
    this.#rules = urlRules(config);
    this.#slots = new Slots(limits);
    this.#drainMs = drainMs;
    const proxy = config.WEBHOOKS_PROXY === undefined ? undefined : parseProxy(config.WEBHOOKS_PROXY);
    const { WEBHOOKS_CA_FILE: file } = config;
    const secureContext = createSecureContext(file === undefined ? {} : { ca: withExtraCa('WEBHOOKS_CA_FILE', file) });
    const options = { resolve, rules: this.#rules.addresses, proxy, secureContext };
    const open: Open = (target, signal) => openConnection(target, options, signal);
    const agents = (keepAlive: boolean) => ({
      'http:': new PlainAgent(open, { keepAlive }),
      'https:': new SecureAgent(open, { keepAlive }),
    });
    this.#agents = { reusing: agents(true), fresh: agents(false) };
  }

  /**
   * Sends one request and returns what was received; never rejects. Redirects are not followed. At most 64 KiB of the
   * response are read; a larger one counts as complete.
   */
  async send(request: DeliveryRequest): Promise<DeliveryResult> {
    const controller = new AbortController();
    const sending = this.#send(request, controller);
    this.#inFlight.set(controller, sending);
    return sending.finally(() => this.#inFlight.delete(controller));
  }

  /** Waits for the deliveries in flight, then aborts the rest; what was aborted has to be delivered again. */
  async drain(): Promise<void> {
    this.#isStopping = true;
    const timer = setTimeout(() => this.#abortAll(), this.#drainMs);
    await Promise.all(this.#inFlight.values());
    clearTimeout(timer);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#abortAll();
    await Promise.all(this.#inFlight.values());
    for (const agent of Object.values(this.#agents).flatMap((each) => Object.values(each))) agent.destroy();
  }

  async #send(request: DeliveryRequest, controller: AbortController): Promise<DeliveryResult> {
    const startedAt = performance.now();
    // The event loop runs timers before it reads sockets; after a stall, setImmediate lets a response be read first.
    const expire = () => setImmediate(() => controller.abort(new DeliveryError('timeout')));
    const timer = setTimeout(expire, request.timeoutMs);
    const received = await this.#attempt(request, controller.signal).catch(failed);
    clearTimeout(timer);
    return {
      status: received.status,
      latencyMs: Math.round(performance.now() - startedAt),
      error: received.error?.message ?? null,
      answer: textOf(received.start),
      isOurFault: received.error?.isOurs ?? false,
    };
  }

  async #attempt(request: DeliveryRequest, signal: AbortSignal): Promise<Received> {
    if (this.#isStopping) throw stopping();
    if (urlFaults(request.url, this.#rules).length > 0) throw new DeliveryError('address not allowed');
    const url = new URL(request.url);
    await this.#slots.acquire(url.host, signal);
    try {
      const received = await this.#exchange(request, url, this.#agents.reusing, signal);
      // Endpoints receive events at least once in any case, so a request on a stale connection is sent once more.
      return received.wasStale ? await this.#exchange(request, url, this.#agents.fresh, signal) : received;
    } finally {
      this.#slots.release(url.host);
    }
  }

  #exchange(
    { headers, body }: DeliveryRequest,
    url: URL,
    agents: Record<string, PlainAgent | SecureAgent>,
    signal: AbortSignal,
  ): Promise<Received> {
    const agent = agents[url.protocol];
    if (!agent) throw new Error(`no agent for ${url.protocol}`);
    return exchange({ url, headers: { ...requiredHeaders(body), ...headers }, body, agent, signal });
  }

  #abortAll(): void {
    for (const controller of this.#inFlight.keys()) controller.abort(stopping());
  }
}

const stopping = () => new DeliveryError('temporarily unavailable', { isOurs: true });

const failed = (error: unknown): Received => ({
  status: null,
  start: EMPTY,
  error: toDeliveryError(error),
  wasStale: false,
});

function requiredHeaders(body: string): Record<string, string> {
  return {
    'user-agent': USER_AGENT,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    accept: '*/*',
    'accept-encoding': 'identity',
  };
}

/** Decodes the beginning of a body. Control characters are replaced, because PostgreSQL cannot store NUL in a text. */
function textOf(bytes: Buffer): string {
  // oxlint-disable-next-line no-control-regex
  return new TextDecoder().decode(bytes, { stream: true }).replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '\ufffd');
}

import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { gzipSync } from 'node:zlib';
import type { EngineClock } from './clock.ts';
import type { HttpEffect } from './vm.ts';

const MAX_REQUESTS_A_MINUTE = 500;
const STALL_MS = 30_000;
const MAX_STUDIO_REQUESTS = 3;
const DEFAULT_TIMEOUT_SECONDS = 60;
const RESERVED_PORTS = 1024;
const OPENVPN_PORT = 1194;

export interface HttpRequest {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | Buffer | undefined;
}

export interface HttpResponse {
  status: number;
  message: string;
  headers: Record<string, string>;
  body: string;
}

/** What goes wrong with a request, before or instead of the response. */
export type Fault =
  /** The connection cannot be established. */
  | { kind: 'unreachable' }
  /** The request arrives and is processed; the connection is reset before the response. */
  | { kind: 'reset-after-send' }
  /** Neither a response nor an error arrives. */
  | { kind: 'silent' }
  /** A proxy between the game server and the gateway responds instead of the gateway. */
  | { kind: 'respond'; response: Partial<HttpResponse> };

export interface Network {
  /** Every request fails, as without any network, and responses to those that were sent do not arrive. */
  down: boolean;
  /** The network latency in each direction, in milliseconds. */
  latency: number;
  fault: ((request: HttpRequest) => Fault | undefined) | undefined;
}

/** A request that a script made. `status` is missing while it is in progress, and if it failed. */
export interface LoggedRequest {
  at: number;
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | undefined;
  status?: number;
  response?: HttpResponse;
  error?: string;
  finishedAt?: number;
}

export type Transport = (request: HttpRequest) => Promise<HttpResponse>;

class HttpError extends Error {}

/** Sends requests on real sockets, of a pool for each server. Simulated time stands still meanwhile. */
export class SocketTransport {
  readonly #clock: EngineClock;
  readonly #plain = new HttpAgent({ keepAlive: true });
  readonly #secure = new HttpsAgent({ keepAlive: true });

  constructor(clock: EngineClock) {
    this.#clock = clock;
  }

  readonly send: Transport = async (request) => {
    const release = this.#clock.hold();
    try {
      return await this.#send(request);
    } finally {
      release();
    }
  };

  async #send(request: HttpRequest): Promise<HttpResponse> {
    const secure = request.url.startsWith('https:');
    return await new Promise((resolve, reject) => {
      const outgoing = (secure ? httpsRequest : httpRequest)(request.url, {
        method: request.method,
        headers: {
          ...request.headers,
          ...(request.body === undefined ? {} : { 'content-length': Buffer.byteLength(request.body) }),
        },
        agent: secure ? this.#secure : this.#plain,
      });
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        const refused = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'].includes(error.code ?? '');
        const unknown = error.code === 'ENOTFOUND' || error.code === 'EAI_AGAIN';
        reject(new HttpError(`HttpError: ${refused ? 'ConnectFail' : unknown ? 'DnsResolve' : 'NetFail'}`));
      });
      outgoing.on('response', (incoming) => {
        receive(incoming).then(resolve, () => {
          reject(new HttpError('HttpError: NetFail'));
        });
      });
      outgoing.end(request.body);
    });
  }

  close(): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }
}

async function receive(incoming: IncomingMessage): Promise<HttpResponse> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  }
  return {
    status: incoming.statusCode ?? 0,
    message: incoming.statusMessage ?? '',
    headers,
    body: Buffer.concat(chunks).toString('utf8'),
  };
}

export interface HttpOptions {
  clock: EngineClock;
  network: Network;
  transport: Transport;
  studio: boolean;
  placeId: number;
}

/** Enforces the engine's limits on requests of one game server, and injects faults. */
export class HttpLimits {
  readonly requests: LoggedRequest[] = [];
  /** The largest number of requests in flight at the same time. */
  maxInFlight = 0;
  readonly #options: HttpOptions;
  #sent: number[] = [];
  #inFlight = 0;
  #queue: (() => void)[] = [];
  #hasEnded = false;

  constructor(options: HttpOptions) {
    this.#options = options;
  }

  /** Ends requests in flight without logging an error. */
  end(): void {
    this.#hasEnded = true;
  }

  async request(effect: HttpEffect): Promise<HttpResponse> {
    const { clock } = this.#options;
    const logged: LoggedRequest = {
      at: clock.now(),
      method: effect.method,
      url: effect.url,
      headers: effect.headers ?? {},
      body: effect.body,
    };
    this.requests.push(logged);
    try {
      const response = await this.#checked(effect);
      logged.status = response.status;
      logged.response = response;
      return response;
    } catch (error) {
      if (!this.#hasEnded) logged.error = (error as Error).message;
      throw error;
    } finally {
      logged.finishedAt = clock.now();
    }
  }

  async #checked(effect: HttpEffect): Promise<HttpResponse> {
    checkAddress(effect);
    await this.#countOne();
    this.maxInFlight = Math.max(this.maxInFlight, this.#inFlight + this.#queue.length + 1);
    if (this.#options.studio && this.#inFlight >= MAX_STUDIO_REQUESTS) {
      await new Promise<void>((resolve) => {
        this.#queue.push(resolve);
      });
    }
    this.#inFlight++;
    try {
      return await this.#withTimeout(effect);
    } finally {
      this.#inFlight--;
      this.#queue.shift()?.();
    }
  }

  async #countOne(): Promise<void> {
    const { clock } = this.#options;
    const now = clock.now();
    this.#sent = this.#sent.filter((at) => at > now - 60_000);
    if (this.#sent.length >= MAX_REQUESTS_A_MINUTE) {
      await this.#pass(STALL_MS);
      throw new HttpError('Number of requests exceeded limit');
    }
    this.#sent.push(now);
  }

  async #withTimeout(effect: HttpEffect): Promise<HttpResponse> {
    const { clock, placeId } = this.#options;
    const body = effect.body !== undefined && effect.gzip ? gzipSync(effect.body) : effect.body;
    const request: HttpRequest = {
      url: effect.url,
      method: effect.method,
      headers: {
        ...effect.headers,
        ...(effect.gzip ? { 'content-encoding': 'gzip' } : {}),
        'user-agent': 'Roblox/Linux',
        'roblox-id': String(placeId),
      },
      body,
    };
    let cancel = () => {};
    const timeout = new Promise<never>((_, reject) => {
      cancel = clock.schedule(clock.now() + (effect.timeout ?? DEFAULT_TIMEOUT_SECONDS) * 1000, () => {
        reject(new HttpError('HttpError: Timedout'));
      });
    });
    try {
      return await Promise.race([this.#exchange(request), timeout]);
    } finally {
      cancel();
    }
  }

  async #exchange(request: HttpRequest): Promise<HttpResponse> {
    const { network, transport } = this.#options;
    const fault = network.down ? ({ kind: 'unreachable' } as const) : network.fault?.(request);
    if (fault?.kind === 'unreachable') throw new HttpError('HttpError: ConnectFail');
    if (fault?.kind === 'silent') return await new Promise(() => {});
    await this.#pass(network.latency);
    if (fault?.kind === 'respond') return { status: 503, message: '', headers: {}, body: '', ...fault.response };
    const response = await transport(request);
    if (fault?.kind === 'reset-after-send' || network.down) throw new HttpError('HttpError: NetFail');
    await this.#pass(network.latency);
    return response;
  }

  async #pass(milliseconds: number): Promise<void> {
    if (milliseconds <= 0) return;
    const { clock } = this.#options;
    await new Promise<void>((resolve) => {
      clock.schedule(clock.now() + milliseconds, resolve);
    });
  }
}

function checkAddress({ url, domains }: HttpEffect): void {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw new HttpError('HttpError: InvalidUrl');
  const { hostname, port } = new URL(url);
  const number = Number(port);
  if (port !== '' && (number === OPENVPN_PORT || (number < RESERVED_PORTS && number !== 80 && number !== 443))) {
    throw new HttpError('HttpError: ERR_ACCESS_DENIED');
  }
  for (const domain of domains) {
    const matches =
      domain === '*' || hostname === domain || (domain.startsWith('*.') && hostname.endsWith(domain.slice(1)));
    if (!matches) throw new HttpError(`Secret is not allowed for the domain ${hostname}`);
  }
}

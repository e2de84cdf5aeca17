import { type ClientRequestArgs, Agent as HttpAgent, type IncomingMessage, request as startRequest } from 'node:http';
import { type AgentOptions, Agent as HttpsAgent, request as startSecureRequest } from 'node:https';
import { type Duplex, Readable } from 'node:stream';
import { withExtraCa } from '#kit/security/extra-ca.ts';
import type { PlatformAccessConfig } from '../config.ts';

/** Sends one request and returns its response. Throws for a redirect, and if the connection fails. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

type Agents = { plain: HttpAgent; secure: HttpsAgent };

/** How long, in milliseconds, a connection without requests is kept. */
const IDLE_MS = 4_000;
/**
 * How long, in milliseconds, a tunnel through the proxy may take to open. Longer than the deadline of any call, which by
 * then has ended with TIMEOUT; this only closes the connection.
 */
const TUNNEL_MS = 30_000;
const NO_BODY: ReadonlySet<number> = new Set([204, 205]);

/** Calls the platforms directly, with the public CAs. */
export const directFetch: Fetch = (url, init) => fetch(url, { ...init, redirect: 'error' });

/**
 * Returns the function with which the platforms are called: through the proxy and with the CAs of the configuration.
 * Throws a ConfigError if PLATFORMS_CA_FILE cannot be used.
 */
export function platformFetch(
  { PLATFORMS_PROXY: proxy, PLATFORMS_CA_FILE: file }: PlatformAccessConfig,
  tunnelMs = TUNNEL_MS,
): Fetch {
  if (proxy === undefined && file === undefined) return directFetch;
  // Node's fetch has neither option for one request, but its agents have.
  const options = {
    keepAlive: true,
    timeout: IDLE_MS,
    ...(proxy !== undefined && { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } }),
  };
  const ca = file === undefined ? {} : { ca: withExtraCa('PLATFORMS_CA_FILE', file) };
  const secureOptions = { ...options, ...ca };
  const secure = proxy === undefined ? new HttpsAgent(secureOptions) : new TunnelAgent(secureOptions, tunnelMs);
  const agents = { plain: new HttpAgent(options), secure };
  return (url, init) => send(url, init, agents);
}

/**
 * Calls hosts through tunnels of a proxy. A request has no connection before the TLS handshake in its tunnel has ended, so
 * aborting the request does not close a tunnel that is still being opened.
 */
class TunnelAgent extends HttpsAgent {
  readonly #tunnelMs: number;

  constructor(options: AgentOptions, tunnelMs: number) {
    super(options);
    this.#tunnelMs = tunnelMs;
  }

  override createConnection(
    options: ClientRequestArgs,
    opened?: (error: Error | null, connection: Duplex) => void,
  ): Duplex | null | undefined {
    const socket = super.createConnection(options, (error, connection) => {
      clearTimeout(timer);
      opened?.(error, connection);
    });
    const timer = setTimeout(() => socket?.destroy(new Error('the tunnel took too long')), this.#tunnelMs).unref();
    return socket;
  }
}

async function send(url: string, { signal, ...init }: RequestInit, agents: Agents): Promise<Response> {
  const prepared = new Request(url, init);
  const body = Buffer.from(await prepared.arrayBuffer());
  const isSecure = prepared.url.startsWith('https:');
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const request = (isSecure ? startSecureRequest : startRequest)(prepared.url, {
    method: prepared.method,
    headers: { ...Object.fromEntries(prepared.headers), 'content-length': body.length },
    agent: isSecure ? agents.secure : agents.plain,
    // The timeout of the agent, which would otherwise apply to the proxy's response too, is for idle connections.
    timeout: TUNNEL_MS,
    ...(signal && { signal }),
  });
  request.on('error', reject);
  request.on('close', () => reject(new Error('the connection was closed')));
  // An aborted request whose tunnel is still being opened emits neither event.
  signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  request.on('response', (incoming) => {
    const response = toResponse(incoming);
    if (response) resolve(response);
    else request.destroy(new Error(`unexpected status ${incoming.statusCode}`));
  });
  request.end(body);
  return promise;
}

/** Returns the response as `fetch` does; undefined for a redirect and for a status that is none. */
function toResponse(incoming: IncomingMessage): Response | undefined {
  const { statusCode: status = 0 } = incoming;
  if (status < 200 || status > 599 || (status >= 300 && status < 400)) return undefined;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(incoming.headersDistinct))
    for (const value of values) headers.append(name, value);
  const hasBody = !NO_BODY.has(status);
  if (!hasBody) incoming.resume();
  return new Response(hasBody ? Readable.toWeb(incoming) : null, { status, headers });
}

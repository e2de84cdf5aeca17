import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { ApiError, asApiError, methodNotAllowed } from '../errors.ts';
import { CALL_TOKEN_HEADER } from '../grpc/call-token.ts';
import { sendBody, sendError, successBody } from '../http/envelope.ts';
import { METRICS_CONTENT_TYPE, type Metrics } from '../telemetry/metrics.ts';
import { addressOf, listen } from './address.ts';
import type { Part } from './lifecycle.ts';
import type { Readiness } from './readiness.ts';

export interface AdminServerOptions {
  host: string;
  port: number;
  readiness: Readiness;
  metrics: Metrics;
  /** Returns true if a call token belongs to an operator and is valid for this method, such as `GET /keys`. */
  admits: (token: string, method: string) => boolean;
}

/**
 * The admin server: serves `/livez`, `/readyz` and `/metrics` on a port that only operators can reach. Further pages
 * require an operator's call token in the header `x-guild-call`.
 */
export class AdminServer implements Part {
  readonly name = 'admin';
  readonly #server: Server;
  readonly #host: string;
  readonly #port: number;
  readonly #admits: AdminServerOptions['admits'];
  readonly #pages = new Map<string, () => unknown>();

  constructor({ host, port, readiness, metrics, admits }: AdminServerOptions) {
    this.#host = host;
    this.#port = port;
    this.#admits = admits;
    this.#server = createServer((request, response) => {
      switch (request.url) {
        case '/livez':
          // A liveness probe needs only a response, which shows that the event loop is running.
          return sendBody(response, 200, successBody(200, 'alive', {}));
        case '/readyz':
          if (!readiness.isReady) return sendError(response, new ApiError('UNAVAILABLE', { message: 'not ready' }));
          return sendBody(response, 200, successBody(200, 'ready', {}));
        case '/metrics':
          return void sendMetrics(request, response, metrics);
        default:
          return this.#sendPage(request, response);
      }
    });
  }

  /**
   * Adds a page for operators to the admin server: GET returns the result of `read` as JSON in the response envelope.
   */
  addPage(path: string, read: () => unknown): void {
    this.#pages.set(path, read);
  }

  /** The address of the admin server as `host:port`; known after `start`. */
  get address(): string {
    return addressOf(this.#server);
  }

  async start(): Promise<void> {
    await listen(this.#server, this.#host, this.#port);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #sendPage({ url: path = '', method = '', headers }: IncomingMessage, response: ServerResponse): void {
    try {
      const read = this.#pages.get(path);
      if (!read) throw new ApiError('ROUTE_NOT_FOUND');
      if (!['GET', 'HEAD'].includes(method)) throw methodNotAllowed(['GET']);
      const token = headers[CALL_TOKEN_HEADER];
      if (typeof token !== 'string' || !this.#admits(token, `GET ${path}`))
        throw new ApiError('MISSING_API_KEY', NO_TOKEN);
      sendBody(response, 200, successBody(200, 'read', read()));
    } catch (error) {
      sendError(response, asApiError(error));
    }
  }
}

const NO_TOKEN = { message: 'This page requires a call token of an operator' };

async function sendMetrics(request: IncomingMessage, response: ServerResponse, metrics: Metrics): Promise<void> {
  try {
    const format = metrics.formatFor(request.headers.accept);
    const text = await metrics.text(format);
    response.setHeader('content-type', METRICS_CONTENT_TYPE[format]);
    response.end(text);
  } catch (error) {
    sendError(response, asApiError(error));
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { requestContext } from '#kit/context.ts';
import { type ApiError, ERRORS, type ErrorCode, isServerError, SERVER_ERRORS } from '#kit/errors.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import { countFromZero, type Metrics } from '#kit/telemetry/metrics.ts';
import { describeRequest, httpError } from '#kit/telemetry/tracing/http-span.ts';
import { CONSOLE_ENDPOINTS, type ConsoleEndpointName } from '#proto/console/api.ts';
import { ROUTES } from '#proto/rest/index.ts';

const KNOWN_METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'PUT'];

/** The status in metrics for a browser that disconnected before its response was written. */
const CLIENT_CLOSED_REQUEST = 499;

/** The endpoint whose responses last until the browser leaves. */
const STREAM = 'streamEvents' satisfies ConsoleEndpointName;

/** The metrics and log lines of the console. None of them holds a session token, a person's name or a raw path. */
export class ConsoleTelemetry {
  readonly #log: Logger;
  readonly #requests;
  readonly #seconds;

  constructor(metrics: Metrics, log: Logger) {
    this.#log = log;
    this.#requests = metrics.counter(
      'http_requests_total',
      'Requests that were responded to, by route, method and status; 499 = the browser disconnected',
      ['route', 'method', 'code'],
    );
    const endpoints = Object.entries(CONSOLE_ENDPOINTS).map(([name, { method }]) => ({ name, method, status: 200 }));
    for (const { name: route, method, status } of [...endpoints, ...ROUTES]) {
      countFromZero(
        this.#requests,
        [status, ...SERVER_ERRORS].map((code) => ({ route, method, code })),
      );
    }
    this.#seconds = metrics.requestDuration(
      'http_request_duration_seconds',
      'Time from the receipt of a request to the end of its response; without streams of events',
      ['route', 'method'],
    );
  }

  /** Counts a request when its response is written or its browser has disconnected. */
  follow(request: IncomingMessage, response: ServerResponse): void {
    const started = performance.now();
    const context = requestContext.getStore();
    response.once('close', () => {
      const method = KNOWN_METHODS.includes(request.method ?? '') ? (request.method ?? '') : 'other';
      const route = context?.route ?? 'none';
      const code = response.headersSent ? response.statusCode : CLIENT_CLOSED_REQUEST;
      this.#requests.inc({ route, method, code });
      if (route !== STREAM)
        this.#seconds.observe({ route, method }, (performance.now() - started) / 1000, context?.span);
      const { requestId = '', span } = context ?? {};
      span?.end(httpError(code), () => describeRequest({ method, route, template: undefined, code, requestId }));
    });
  }

  /** Logs a request that failed or was rejected. */
  failed(error: ApiError): void {
    if (isServerError(error)) this.#log.error({ err: error }, 'request failed');
    else this.#log.info({ rejection: error.code }, 'request rejected');
  }

  /** Logs a change that a person made. The audit names the person. */
  changed(name: string, guildId: string | undefined): void {
    this.#log.info({ change: name, guild_id: guildId }, 'person changed data in the console');
  }

  /** Counts and logs bytes that Node's HTTP parser rejected before they became a request. */
  rejectedByParser(code: ErrorCode): void {
    this.#requests.inc({ route: 'none', method: 'other', code: ERRORS[code].http });
    this.#log.info({ rejection: code }, 'malformed HTTP request rejected');
  }
}

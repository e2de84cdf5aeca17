import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { RequestContext } from '#kit/context.ts';
import { type ApiError, ERRORS, type ErrorCode, isServerError, SERVER_ERRORS } from '#kit/errors.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import { countFromZero, type Metrics } from '#kit/telemetry/metrics.ts';
import { describeRequest, httpError } from '#kit/telemetry/tracing/http-span.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { API_PREFIX, type Route } from '#proto/rest/route.ts';
import { OverloadError, OverloadLog } from '../downstream/overload.ts';
import type { KeyActivity } from '../keys/key-activity.ts';
import { REJECTIONS } from './rejections.ts';

export interface Outcome {
  /** The matched route; undefined if there is none. */
  route: Route | undefined;
  /** When the pipeline began with the request, by performance.now(). */
  started: number;
  /** The milliseconds that a service took to respond. */
  upstreamMs: number;
  /** The error with which the gateway itself rejected the request. */
  rejection: ApiError | undefined;
}

/** The fields of the log line of one request. */
interface Summary {
  method: string;
  code: number;
  /** The duration of the request in milliseconds. */
  ms: number;
}

const KNOWN_METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS', 'PUT'];

/**
 * The status in metrics for a client that disconnected before its response was written: neither a failure nor a
 * success.
 */
const CLIENT_CLOSED_REQUEST = 499;

export interface GatewayTelemetryOptions {
  metrics: Metrics;
  log: Logger;
  activity: KeyActivity;
  /** ACCESS_LOG_SAMPLE_RATIO */
  accessLogRatio: number;
}

/** The metrics and log lines of the gateway. No metric label holds an API key, a guild, an address or a raw path. */
export class GatewayTelemetry {
  readonly #log: Logger;
  readonly #requests;
  readonly #seconds;
  readonly #overhead;
  readonly #authentication;
  readonly #overload;
  readonly #activity: KeyActivity;
  readonly #accessLogRatio: number;

  constructor({ metrics, log, activity, accessLogRatio }: GatewayTelemetryOptions) {
    this.#log = log;
    this.#accessLogRatio = accessLogRatio;
    this.#activity = activity;
    this.#requests = metrics.counter(
      'http_requests_total',
      'Requests that were responded to, by route, method and status; 499 = the client disconnected',
      ['route', 'method', 'code'],
    );
    this.#seconds = metrics.requestDuration(
      'http_request_duration_seconds',
      'Time from the first check of a request until its response is written; without rejected requests, and those whose client disconnected before',
      ['route', 'method'],
    );
    // Alerts and dashboards compare these series, so each exists before its first request.
    for (const { name: route, method, status } of ROUTES) {
      countFromZero(
        this.#requests,
        [status, ERRORS.RATE_LIMITED.http, ...SERVER_ERRORS].map((code) => ({ route, method, code })),
      );
      this.#seconds.zero({ route, method });
    }
    this.#overhead = metrics.duration(
      'gateway_overhead_seconds',
      "Part of a request's duration that the gateway took, without the service",
    );
    this.#authentication = metrics.counter(
      'gateway_authentication_total',
      'API keys that were authenticated, by result',
      ['result'],
    );
    this.#overload = new OverloadLog({ metrics, log });
  }

  authenticated(grant: KeyGrant): void {
    this.#authentication.inc({ result: grant.legacy ? 'legacy' : 'valid' });
  }

  /**
   * Counts and logs a request. Called once, when its response is written to the socket or its client has disconnected.
   */
  responded(
    request: IncomingMessage,
    response: ServerResponse,
    context: RequestContext,
    { route: matched, started, upstreamMs, rejection }: Outcome,
  ): void {
    const { requestId, route, keyId, span } = context;
    const ms = performance.now() - started;
    const method = KNOWN_METHODS.includes(request.method ?? '') ? (request.method ?? '') : 'other';
    const code = rejection?.httpStatus ?? (isWritten(response) ? response.statusCode : CLIENT_CLOSED_REQUEST);
    this.#requests.inc({ route, method, code });
    if (keyId !== undefined) this.#activity.count(keyId, code);
    if (isTimed(code)) this.#seconds.observe({ route, method }, ms / 1000, span);
    this.#overhead.observe({}, Math.max(0, ms - upstreamMs) / 1000);
    if (rejection?.httpStatus === 401 && rejection.code !== 'INVALID_SIGNATURE') {
      this.#authentication.inc({ result: rejection.code });
    }
    this.#writeLine({ method, code, ms: Math.round(ms * 10) / 10 }, rejection);
    span?.end(rejection && isServerError(rejection) ? rejection.code : httpError(code), () =>
      describeRequest({ method, route, template: matched && API_PREFIX + matched.path, code, requestId }),
    );
  }

  /** Counts and logs bytes that Node's HTTP parser rejected before they became a request. */
  rejectedByParser(code: ErrorCode): void {
    this.#requests.inc({ route: 'none', method: 'other', code: ERRORS[code].http });
    this.#log.info({ rejection: code }, 'malformed HTTP request rejected');
  }

  /** Logs an internal error at the end of a request, whose connection is closed. */
  failed(error: unknown): void {
    this.#log.error({ err: error }, 'request could not be completed, connection closed');
  }

  /** True for the share of successful requests that is logged at `info`. */
  #isInAccessLog(): boolean {
    return this.#accessLogRatio > 0 && Math.random() < this.#accessLogRatio;
  }

  #writeLine(summary: Summary, rejection: ApiError | undefined): void {
    if (!rejection) return this.#log[this.#isInAccessLog() ? 'info' : 'debug'](summary, 'request completed');
    if (rejection instanceof OverloadError) return this.#overload.rejected(rejection.bound);
    if (isServerError(rejection)) return this.#log.error({ ...summary, err: rejection }, 'request failed');
    this.#log.info({ ...summary, rejection: rejection.code }, 'request rejected');
  }
}

/**
 * The histogram has no durations of rejected requests, nor of requests whose client disconnected: a slow request that the
 * client gave up after 200 ms would count as fast.
 */
const isTimed = (code: number) => code !== CLIENT_CLOSED_REQUEST && !REJECTIONS.includes(code);

/** True if the whole response was written to the socket, even if the socket was destroyed afterwards. */
function isWritten(response: ServerResponse): boolean {
  return response.headersSent && (response.writableEnded || !response.destroyed);
}

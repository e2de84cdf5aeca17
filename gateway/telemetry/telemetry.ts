import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { RequestContext } from '#kit/context.ts';
import { type ApiError, ERRORS, type ErrorCode, isServerError } from '#kit/errors.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { OverloadError, OverloadLog } from '../downstream/overload.ts';
import type { KeyActivity } from '../keys/key-activity.ts';
import { RefusalLog, type Told } from './refusal-log.ts';

export interface Outcome {
  /** performance.now() when the request came. */
  started: number;
  /** How long a service worked on it. */
  upstreamMs: number;
  /** What the gateway itself refused it with. */
  refusal: ApiError | undefined;
}

const KNOWN_METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS', 'PUT'];

/** Counted for a client that left or was disconnected before its response was written: neither a failure nor a success. */
const CALLER_GONE = 499;

/** What the gateway counts and logs. No label holds a key, a guild, an address or a raw path. */
export class GatewayEvents {
  readonly #log: Logger;
  readonly #requests;
  readonly #seconds;
  readonly #overhead;
  readonly #authentication;
  readonly #overload;
  readonly #refusals;
  readonly #activity: KeyActivity;

  constructor(metrics: Metrics, log: Logger, activity: KeyActivity) {
    this.#log = log;
    this.#activity = activity;
    this.#requests = metrics.counter('http_requests_total', 'Requests answered', ['route', 'method', 'code']);
    this.#seconds = metrics.duration('http_request_duration_seconds', 'Time to answer', ['route', 'method']);
    this.#overhead = metrics.duration('gateway_overhead_seconds', 'Time to answer, less that of the service');
    this.#authentication = metrics.counter('gateway_authentication_total', 'Keys judged', ['result']);
    this.#overload = new OverloadLog(metrics, log);
    this.#refusals = new RefusalLog(log);
  }

  authenticated(grant: KeyGrant): void {
    this.#authentication.inc({ result: grant.legacy ? 'legacy' : 'valid' });
  }

  /** Once per request, when its response is written to the socket or its client has gone. */
  answered(
    request: IncomingMessage,
    response: ServerResponse,
    context: RequestContext,
    { started, upstreamMs, refusal }: Outcome,
  ): void {
    const { route, keyId } = context;
    const ms = performance.now() - started;
    const method = KNOWN_METHODS.includes(request.method ?? '') ? (request.method ?? '') : 'other';
    const code = refusal?.httpStatus ?? (isWritten(response) ? response.statusCode : CALLER_GONE);
    this.#requests.inc({ route, method, code });
    if (keyId !== undefined) this.#activity.count(keyId, response.statusCode);
    this.#seconds.observe({ route, method }, ms / 1000);
    this.#overhead.observe({}, Math.max(0, ms - upstreamMs) / 1000);
    if (refusal?.httpStatus === 401) this.#authentication.inc({ result: refusal.code });
    this.#write(context, { method, code, ms: Math.round(ms * 10) / 10 }, refusal);
  }

  /** What Node's parser refused before there was a request. */
  refusedByParser(code: ErrorCode): void {
    this.#requests.inc({ route: 'none', method: 'other', code: ERRORS[code].http });
    this.#log.info({ refusal: code }, 'bytes that are no request were refused');
  }

  /** An error of our own at the end of a request, whose connection is closed. */
  failed(error: unknown): void {
    this.#log.error({ err: error }, 'request could not be completed, connection closed');
  }

  #write(context: RequestContext, told: Told, refusal: ApiError | undefined): void {
    if (!refusal) return this.#log.debug(told, 'answered');
    if (refusal instanceof OverloadError) return this.#overload.refused(refusal.bound);
    if (isServerError(refusal)) return this.#log.error({ ...told, err: refusal }, 'failed');
    this.#refusals.refused(context, told, refusal.code);
  }
}

/** A destroyed response was written whole if it was ended before. */
function isWritten(response: ServerResponse): boolean {
  return response.headersSent && (response.writableEnded || !response.destroyed);
}

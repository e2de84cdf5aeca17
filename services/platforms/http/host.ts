import type { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { Breaker, Breakers } from '#kit/resilience/breaker.ts';
import { countFromZero, type Metrics } from '#kit/telemetry/metrics.ts';
import { recordedSpan } from '#kit/telemetry/tracing/current-span.ts';
import { httpError } from '#kit/telemetry/tracing/http-span.ts';
import type { Attributes, Span } from '#kit/telemetry/tracing/span.ts';
import { TRACEPARENT_HEADER } from '#kit/telemetry/tracing/trace-context.ts';
import { jsonRequest, readJsonBody } from './body.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { directFetch, type Fetch } from './fetch.ts';
import { RateLimitPauses } from './pauses.ts';

const DEADLINE_MS = 5_000;
const MAX_BYTES = 1024 * 1024;
/** Longer than for services, in milliseconds: the trial is a caller's call, which may wait for a whole timeout. */
const BREAKER_OPEN_MS = 2_000;
const MAX_CONCURRENT_CALLS = 20;
const MAX_WAITING_CALLS = 1_000;
/** The outcomes of calls that alerts are about, and success; their counters start at 0. */
const COUNTED_FROM_ZERO = ['200', '401', '403', '429', '500', '502', '503', '504', 'failed', 'too slow', 'held back'];

/** The options of every HTTP client of a platform. */
export interface PlatformOptions {
  breakers: Breakers;
  metrics: Metrics;
  clock: Clock;
  /**
   * The deadline of a call in milliseconds, from the request to the last byte of the response. Before the request a
   * call may wait as long again for a connection.
   */
  deadlineMs?: number;
  /** How requests are sent; directly if left out. */
  fetch?: Fetch;
}

export interface PlatformHostOptions extends PlatformOptions {
  /** The name of the host in metrics and circuit breakers, for example `game-users`. */
  name: string;
  /** The name of the platform in error messages, for example `game platform`. */
  platform: string;
  /** The base URL of the host, without a trailing slash; empty if the paths of calls are whole URLs. */
  url: string;
  /** Delays calls to respect the host's rate limits. If left out, only the number of calls in flight is limited. */
  pace?: Pace | undefined;
}

/** Delays calls to respect a platform's rate limits. */
export interface Pace {
  /** Makes a call as soon as the rate limits allow it. Throws UNAVAILABLE without calling if that takes too long. */
  run(limit: string, call: () => Promise<HostResponse>): Promise<HostResponse>;
  /**
   * Takes the permission to send a request, immediately before it is sent. Throws UNAVAILABLE during a pause that another
   * process knows of.
   */
  permit(limit: string): Promise<void>;
  /** Receives every response of the host, including a 429, to learn the state of the rate limits. */
  note(limit: string, response: HostResponse): void;
}

export interface CallOptions {
  /** The HTTP method of the call; GET if left out. */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers?: Record<string, string>;
  /** The body of the request: URLSearchParams and FormData are sent as a form, everything else as JSON. */
  body?: unknown;
  /** True if a user's token authorises the call, so that a 401 says nothing about our own credentials. */
  isForUser?: boolean;
  /** The maximum size of the response in bytes; 1 MiB if left out. */
  maxBytes?: number;
  /** The host's rate limit that the call counts towards, if the host has several. */
  limit?: string;
  /**
   * Awaited immediately before the request is sent. If this function throws, its error is thrown and no request is
   * sent.
   */
  beforeCall?: () => Promise<void>;
}

/** A response of a platform with a status of 2xx, or of 4xx except 429. */
export interface PlatformResponse {
  status: number;
  /** The parsed JSON body of the response; undefined for a 204. */
  body: unknown;
}

export interface HostResponse extends PlatformResponse {
  headers: Headers;
}

/**
 * An HTTP client for one host of a platform. At most 20 calls are in flight, each with a deadline; redirects are not
 * followed, and responses above 1 MiB are errors unless the call allows more. A circuit breaker stops calls to a host
 * that keeps failing, and after a 429 no call is made for as long as the host requires.
 */
export class PlatformHost {
  readonly #options: PlatformHostOptions;
  readonly #breaker: Breaker;
  readonly #concurrency: ConcurrencyLimit;
  readonly #pauses: RateLimitPauses;
  readonly #calls;
  readonly #seconds;
  readonly #credentialsRejected;

  constructor(options: PlatformHostOptions) {
    const { name, platform, breakers, metrics, clock, deadlineMs = DEADLINE_MS } = options;
    this.#options = options;
    this.#breaker = breakers.create(name, () => true, { openMs: BREAKER_OPEN_MS });
    this.#concurrency = new ConcurrencyLimit({
      maxRunning: MAX_CONCURRENT_CALLS,
      maxWaitingPerPurpose: MAX_WAITING_CALLS,
      maxWaitMs: deadlineMs,
      message: `Too many requests to the ${platform} are queued, try again later`,
    });
    this.#pauses = new RateLimitPauses(clock);
    this.#calls = metrics.counter('platform_calls_total', 'Calls to a host of a platform, by outcome', [
      'host',
      'outcome',
    ]);
    countFromZero(
      this.#calls,
      COUNTED_FROM_ZERO.map((outcome) => ({ host: name, outcome })),
    );
    this.#seconds = metrics.duration(
      'platform_call_duration_seconds',
      'Time from sending a request to a host of a platform to the last byte of its response',
      ['host'],
    );
    this.#credentialsRejected = metrics.gauge(
      'platform_credentials_rejected',
      "1 if the host's last response was 401, which means that our credentials are invalid",
      ['host'],
    );
    this.#credentialsRejected.set({ host: name }, 0);
  }

  /** Makes a GET call to the host. Throws the same errors as `call`. */
  get(path: string, options: Omit<CallOptions, 'method' | 'body'> = {}): Promise<PlatformResponse> {
    return this.call(path, options);
  }

  /** Makes one call to the host, which is never retried. Throws PLATFORM_ERROR, TIMEOUT or UNAVAILABLE. */
  call(path: string, options: CallOptions = {}): Promise<HostResponse> {
    const { limit = '' } = options;
    const { pace } = this.#options;
    const send = () => this.#concurrency.run(() => this.#send(path, limit, options));
    return pace ? this.#sendPaced(pace, limit, send) : send();
  }

  /**
   * Makes a call within the rate limits. A pause after a 429 is checked first, so that a call that would be rejected
   * anyway does not wait for the rate limits.
   */
  async #sendPaced(pace: Pace, limit: string, send: () => Promise<HostResponse>): Promise<HostResponse> {
    this.requireNoPause(limit);
    return pace.run(limit, send);
  }

  async #send(path: string, limit: string, options: CallOptions): Promise<HostResponse> {
    this.requireNoPause(limit);
    await options.beforeCall?.();
    await this.#options.pace?.permit(limit);
    this.requireNoPause(limit);
    const response = await this.#breaker.run(() => this.#traced(path, options));
    this.#options.pace?.note(limit, response);
    if (response.status === 429) {
      this.#pauses.note(limit, response);
      throw this.#pausedError(limit);
    }
    return response;
  }

  /**
   * Returns the body of a 200, checked against the schema. Throws PLATFORM_ERROR for another status and for an invalid
   * body.
   */
  expect<Shape>(response: PlatformResponse, schema: z.ZodType<Shape>): Shape {
    const parsed = response.status === 200 ? schema.safeParse(response.body) : undefined;
    if (!parsed?.success) throw this.unexpectedResponse(response);
    return parsed.data;
  }

  /** Returns a PLATFORM_ERROR for a response that makes no sense. Only the log shows the details. */
  unexpectedResponse({ status }: Pick<PlatformResponse, 'status'>, what = 'an unexpected body'): ApiError {
    const { name, platform } = this.#options;
    const cause = new Error(`${name} responded with ${status} and ${what}`);
    return new ApiError('PLATFORM_ERROR', { message: `The ${platform} sent no usable response`, cause });
  }

  /** Throws UNAVAILABLE during a pause, after a 429, of the whole host or of this rate limit. */
  requireNoPause(limit: string): void {
    if (this.#pauses.secondsLeft(limit) === 0) return;
    this.#calls.inc({ host: this.#options.name, outcome: 'held back' });
    throw this.#pausedError(limit);
  }

  #pausedError(limit: string): ApiError {
    const retryAfter = Math.max(1, this.#pauses.secondsLeft(limit));
    const message = `The ${this.#options.platform} limits our request rate, try again later`;
    return new ApiError('UNAVAILABLE', { message, retryAfter });
  }

  /** Makes the call as a span of the request. The path is left out of the span, because it names users. */
  #traced(path: string, options: CallOptions): Promise<HostResponse> {
    const span = recordedSpan();
    if (!span) return this.#fetch(path, options);
    const { name, url } = this.#options;
    const { method = 'GET' } = options;
    const attributes: Attributes = { 'http.request.method': method, 'server.address': new URL(url + path).hostname };
    const work = async (call: Span) => {
      const response = await this.#fetch(path, options, call);
      attributes['http.response.status_code'] = response.status;
      return response;
    };
    const failureIn = ({ status }: HostResponse) => httpError(status);
    return span.call({ name: `${method} ${name}`, attributes }, work, { failureIn });
  }

  async #fetch(path: string, options: CallOptions, call?: Span): Promise<HostResponse> {
    const { method = 'GET', maxBytes = MAX_BYTES } = options;
    const { name, platform, url, deadlineMs = DEADLINE_MS, fetch = directFetch } = this.#options;
    const signal = AbortSignal.timeout(deadlineMs);
    const stopTimer = this.#seconds.startTimer({ host: name });
    let outcome = 'failed';
    try {
      // The platforms get no tracestate, which may hold data of the client's tracing system.
      const headers = call ? { ...options.headers, [TRACEPARENT_HEADER]: call.traceparent } : options.headers;
      const request = jsonRequest(headers, options.body);
      const response = await fetch(url + path, { method, ...request, signal });
      outcome = String(response.status);
      if (!options.isForUser) this.#credentialsRejected.set({ host: name }, response.status === 401 ? 1 : 0);
      return { status: response.status, headers: response.headers, body: await readJsonBody(response, maxBytes) };
    } catch (cause) {
      if (!signal.aborted)
        throw new ApiError('PLATFORM_ERROR', { message: `The ${platform} sent no usable response`, cause });
      outcome = 'too slow';
      throw new ApiError('TIMEOUT', { message: `The ${platform} took too long`, cause });
    } finally {
      stopTimer();
      this.#calls.inc({ host: name, outcome });
    }
  }
}

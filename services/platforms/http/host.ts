import type { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { Breaker, Breakers } from '#kit/resilience/breaker.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import { Gate } from './concurrency-limit.ts';
import { Quiet } from './pauses.ts';

const DEADLINE_MS = 5_000;
const MOST_BYTES = 1024 * 1024;
const NO_CONTENT = 204;
const MOST_AT_ONCE = 20;
const MOST_WAITING = 1_000;

/** What the connectors share. */
export interface PlatformOptions {
  breakers: Breakers;
  metrics: Metrics;
  clock: Clock;
  /** From a call to the last byte of its answer; before it, a call may wait as long for its turn. */
  deadlineMs?: number;
}

export interface PlatformHostOptions extends PlatformOptions {
  /** `game-users`: what metrics and breakers call it. */
  name: string;
  /** `game platform`: what callers are told. */
  platform: string;
  /** Without a trailing slash. */
  url: string;
  /** Left out: calls are made at once, up to 20 at a time. */
  pace?: Pace | undefined;
}

/** Lets calls wait until the platform takes them. */
export interface Pace {
  /** The call's outcome once it has its turn; UNAVAILABLE without calling where that takes too long. */
  run(limit: string, call: () => Promise<HostAnswer>): Promise<HostAnswer>;
  /** What each response, also a 429, tells of calls to come. */
  note(limit: string, answer: HostAnswer): void;
}

export interface CallOptions {
  /** GET when left out. */
  method?: 'GET' | 'PUT' | 'PATCH' | 'DELETE';
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: unknown;
  /** Of an answer that may be larger than 1 MiB. */
  mostBytes?: number;
  /** Which of the host's rate limits the call counts on, where it has several. */
  limit?: string;
  /** Awaited when the call's turn has come; what it throws is thrown, and nothing is called. */
  atLast?: () => Promise<void>;
}

/** An answer that the platform thought about: 2xx, or a 4xx other than 429. */
export interface PlatformAnswer {
  status: number;
  /** Parsed JSON; undefined of a 204. */
  body: unknown;
}

/** The same, with its headers. */
export interface HostAnswer extends PlatformAnswer {
  headers: Headers;
}

/**
 * One host of a platform: at most 20 calls at once, each with a deadline; a call follows no redirect and reads at most
 * 1 MiB, unless told otherwise. A host that keeps failing is left alone for a while, and so is one that answered 429, for as long as it asked.
 */
export class PlatformHost {
  readonly #options: PlatformHostOptions;
  readonly #breaker: Breaker;
  readonly #gate: Gate;
  readonly #quiet: Quiet;
  readonly #calls;
  readonly #seconds;
  readonly #refused;

  constructor(options: PlatformHostOptions) {
    const { name, platform, breakers, metrics, clock, deadlineMs = DEADLINE_MS } = options;
    this.#options = options;
    this.#breaker = breakers.create(name, () => true);
    this.#gate = new Gate({
      most: MOST_AT_ONCE,
      mostWaiting: MOST_WAITING,
      patienceMs: deadlineMs,
      message: `Too many calls to the ${platform} are waiting`,
    });
    this.#quiet = new Quiet(clock);
    this.#calls = metrics.counter('platform_calls_total', 'Calls to a platform', ['host', 'outcome']);
    this.#seconds = metrics.duration('platform_call_duration_seconds', 'Time of a call', ['host']);
    this.#refused = metrics.gauge('platform_credentials_refused', '1 if its last answer was 401', ['host']);
    this.#refused.set({ host: name }, 0);
  }

  /** A call that changes nothing. Errors as of `call`. */
  get(path: string, options: Omit<CallOptions, 'method' | 'body'> = {}): Promise<PlatformAnswer> {
    return this.call(path, options);
  }

  /** One call of a path, never repeated. Errors: PLATFORM_ERROR, TIMEOUT, UNAVAILABLE. */
  call(path: string, options: CallOptions = {}): Promise<HostAnswer> {
    const { limit = '' } = options;
    const { pace } = this.#options;
    const make = () => this.#gate.run(() => this.#make(path, limit, options));
    if (!pace) return make();
    return this.#paced(pace, limit, make);
  }

  /** A call that would be rejected does not wait for its turn. */
  async #paced(pace: Pace, limit: string, make: () => Promise<HostAnswer>): Promise<HostAnswer> {
    this.keepQuiet(limit);
    return pace.run(limit, make);
  }

  async #make(path: string, limit: string, options: CallOptions): Promise<HostAnswer> {
    this.keepQuiet(limit);
    await options.atLast?.();
    const response = await this.#breaker.run(() => this.#fetch(path, options));
    this.#options.pace?.note(limit, response);
    if (response.status === 429) {
      this.#quiet.note(limit, response);
      throw this.#wantsNoCalls(limit);
    }
    return response;
  }

  /** What a 200 holds; PLATFORM_ERROR for another status and for another shape. */
  expect<Shape>(answer: PlatformAnswer, schema: z.ZodType<Shape>): Shape {
    const parsed = answer.status === 200 ? schema.safeParse(answer.body) : undefined;
    if (!parsed?.success) throw this.misunderstood(answer);
    return parsed.data;
  }

  /** Thrown when the host answered something that can't be: PLATFORM_ERROR, with the details for the log alone. */
  misunderstood({ status }: Pick<PlatformAnswer, 'status'>, what = 'another shape'): ApiError {
    const { name, platform } = this.#options;
    const cause = new Error(`${name} answered ${status} with ${what}`);
    return new ApiError('PLATFORM_ERROR', { message: `The ${platform} gave no good answer`, cause });
  }

  /** UNAVAILABLE while the host wants no calls on this limit. */
  keepQuiet(limit: string): void {
    if (this.#quiet.secondsLeft(limit) === 0) return;
    this.#calls.inc({ host: this.#options.name, outcome: 'held back' });
    throw this.#wantsNoCalls(limit);
  }

  #wantsNoCalls(limit: string): ApiError {
    const retryAfter = Math.max(1, this.#quiet.secondsLeft(limit));
    const message = `The ${this.#options.platform} takes no more calls for now`;
    return new ApiError('UNAVAILABLE', { message, retryAfter });
  }

  async #fetch(path: string, options: CallOptions): Promise<HostAnswer> {
    const { method = 'GET', mostBytes = MOST_BYTES } = options;
    const { name, platform, url, deadlineMs = DEADLINE_MS } = this.#options;
    const signal = AbortSignal.timeout(deadlineMs);
    const elapsed = this.#seconds.startTimer({ host: name });
    let outcome = 'failed';
    try {
      const response = await fetch(url + path, { method, ...withBody(options), redirect: 'error', signal });
      outcome = String(response.status);
      this.#refused.set({ host: name }, response.status === 401 ? 1 : 0);
      return { status: response.status, headers: response.headers, body: await readAnswer(response, mostBytes) };
    } catch (cause) {
      if (!signal.aborted)
        throw new ApiError('PLATFORM_ERROR', { message: `The ${platform} gave no good answer`, cause });
      outcome = 'too slow';
      throw new ApiError('TIMEOUT', { message: `The ${platform} took too long`, cause });
    } finally {
      elapsed();
      this.#calls.inc({ host: name, outcome });
    }
  }
}

function withBody({ headers = {}, body }: CallOptions): Pick<RequestInit, 'headers' | 'body'> {
  const all = { accept: 'application/json', ...headers };
  if (body === undefined) return { headers: all };
  return { headers: { ...all, 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** The JSON of an answer; nothing of a 204, which has none, and of a 429 whose body can't be read. */
async function readAnswer(response: Response, mostBytes: number): Promise<unknown> {
  if (response.status === 429) return readJson(response, MOST_BYTES).catch(() => undefined);
  if (response.status >= 500) await response.body?.cancel();
  if (response.status === NO_CONTENT) return undefined;
  if (response.status >= 500) throw new Error(`the platform answered ${response.status}`);
  return readJson(response, mostBytes);
}

async function readJson(response: Response, mostBytes: number): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > mostBytes) throw new Error(`the answer is larger than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return parseAnswer(Buffer.concat(chunks).toString('utf8'));
}

/** The error of the parser quotes what it could not read, which is no business of the log. */
function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`the answer of ${text.length} characters is not JSON`);
  }
}

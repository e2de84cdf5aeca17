import { type AttemptOptions, attempt, type Received } from './attempt.ts';
import { GuildDataError } from './errors.ts';
import type { CallOptions, Operation, SharedOptions } from './operation.ts';
import { RateLimits } from './rate-limits.ts';
import { detailsOf, errorOf, isSuccess } from './read-response.ts';
import { type Arguments, type PreparedRequest, prepareRequest } from './request.ts';
import { delayAfter } from './retry.ts';
import { type Runtime, systemRuntime } from './runtime.ts';

const TIMEOUT_MS = 15_000;
const TOTAL_TIMEOUT_MS = 60_000;
const MAX_ATTEMPTS = 5;

export interface ClientOptions extends SharedOptions {
  /** The API key. It is only sent to `baseUrl`, and is in no error and no printed client. */
  key: string;
  /** The ID of the guild that the key belongs to. */
  guildId: string;
  /** The address of the gateway, such as `https://data.example.com`. */
  baseUrl: string;
  /** Used instead of the global `fetch`, for example one with a proxy. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Replaces the clock, waits and random numbers, for tests. */
  runtime?: Partial<Runtime> | undefined;
}

/** A call in flight. */
interface Call {
  operation: Operation;
  request: PreparedRequest;
  options: CallOptions;
  /** Milliseconds that one attempt may take. */
  timeoutMs: number;
  /** When the total time ends. */
  endsAt: number;
  isStream: boolean;
}

/** Sends requests with the key and the guild ID, within the rate limits, and retries them after failures. */
export class Client {
  readonly guildId: string;
  readonly baseUrl: string;
  /** The clock, waits, random numbers and fetch that this client uses. */
  readonly runtime: Runtime;
  readonly #key: string;
  readonly #defaults: SharedOptions;
  readonly #limits: RateLimits;

  constructor({ key, guildId, baseUrl, fetch, runtime, ...defaults }: ClientOptions) {
    // The messages do not have the key. fetch would quote a key with a line break.
    if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key)) throw new TypeError('key is not an API key');
    if (typeof guildId !== 'string' || !/^[0-9]+$/.test(guildId))
      throw new TypeError('guildId must be a string of digits');
    this.#key = key;
    this.guildId = guildId;
    this.baseUrl = readBaseUrl(baseUrl);
    this.runtime = { ...systemRuntime, ...(fetch && { fetch }), ...runtime };
    this.#defaults = defaults;
    this.#limits = new RateLimits(this.runtime);
  }

  /** Calls an operation and returns its `data`. The functions and methods of the operations use it. */
  async request<Data>(operation: Operation, args: object = {}, options: CallOptions = {}): Promise<Data> {
    const { body } = await this.#send(operation, args as Arguments, options, false);
    return (body as { data: Data }).data;
  }

  /** Calls an operation whose response is a stream, and returns the response with its body unread. */
  async open(operation: Operation, args: object = {}, options: CallOptions = {}): Promise<Response> {
    const { response } = await this.#send(operation, args as Arguments, options, true);
    return response;
  }

  async #send(operation: Operation, args: Arguments, own: CallOptions, isStream: boolean): Promise<Received> {
    const options = { ...this.#defaults, ...withoutUndefined(own) };
    const { timeoutMs = TIMEOUT_MS, totalTimeoutMs = TOTAL_TIMEOUT_MS, maxAttempts = MAX_ATTEMPTS } = options;
    const { baseUrl, guildId } = this;
    const call: Call = {
      operation,
      request: prepareRequest(operation, args, { baseUrl, guildId, key: this.#key }, options),
      options,
      timeoutMs: timeoutMs + waitOf(operation, args) * 1_000,
      endsAt: this.runtime.now() + totalTimeoutMs,
      isStream,
    };
    for (let number = 1; ; number++) {
      await this.#waitForLimits(call);
      const result = await this.#attempt(call, number);
      if (!(result instanceof GuildDataError)) return result;
      const delay = delayAfter(result, number, this.runtime.random);
      const isLast = number >= maxAttempts || this.runtime.now() + delay >= call.endsAt;
      if (!result.isRetryable || isLast) throw result;
      await this.runtime.sleep(delay, options.signal);
    }
  }

  /** Waits while a rate limit is used up, unless that would exceed the total time: then the API decides. */
  async #waitForLimits({ operation, options, endsAt }: Call): Promise<void> {
    for (;;) {
      const delay = this.#limits.take(operation);
      if (delay <= 0 || this.runtime.now() + delay >= endsAt) return;
      await this.runtime.sleep(delay, options.signal);
    }
  }

  async #attempt(call: Call, number: number): Promise<Received | GuildDataError> {
    const { operation, request, options, isStream } = call;
    const timeoutMs = Math.max(1, Math.min(call.timeoutMs, call.endsAt - this.runtime.now()));
    const { signal } = options;
    const attemptOptions: AttemptOptions = { operation, request, runtime: this.runtime, timeoutMs, signal, isStream };
    const result = await attempt(attemptOptions);
    if (result instanceof GuildDataError) return result;
    const { response, body } = result;
    const { status, headers } = response;
    const details = detailsOf(body);
    // A 401 reports the limit of rejected keys.
    if (status !== 401)
      this.#limits.observe(
        operation,
        headers,
        details?.code === 'RATE_LIMITED' ? String(details['category']) : undefined,
      );
    options.onResponse?.({ operation: operation.name, attempt: number, status, headers, body });
    const isData = isStream ? response.ok : response.ok && isSuccess(body);
    return isData ? result : errorOf(operation.name, response, body);
  }
}

/** The seconds for which a long poll asks the gateway to wait. */
function waitOf({ hasBody }: Operation, args: Arguments): number {
  const wait = hasBody ? 0 : Number(args['wait'] ?? 0);
  return wait > 0 ? wait : 0;
}

function readBaseUrl(text: string): string {
  if (!URL.canParse(text)) throw new TypeError('baseUrl is not a URL');
  const { protocol, origin, pathname, search, hash, username, password } = new URL(text);
  const isPlain = /^https?:$/.test(protocol) && !search && !hash && !username && !password;
  if (!isPlain) throw new TypeError('baseUrl must be like https://data.example.com');
  // People copy the address with the prefix of the paths.
  return origin + pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '');
}

/** An option that is undefined counts as left out. */
function withoutUndefined(options: CallOptions): CallOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

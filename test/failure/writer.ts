import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { type BackoffOptions, backoffMs } from '#kit/resilience/backoff.ts';

const PATIENCE_MS = 20_000;
const PAUSE_MS = 250;

export interface WriterOptions {
  /** The pause between two attempts doubles up to this many milliseconds; by default all pauses are short. */
  maxPauseMs?: number;
}

// oxlint-disable-next-line typescript/no-explicit-any -- tests read arbitrary responses
type Data = any;

interface Init {
  method?: string;
  headers: Record<string, string>;
  body?: string;
}

/** A client that repeats each request with its Idempotency-Key until it is acknowledged. */
export class Writer {
  readonly #api: string;
  readonly #keys: ReadonlyMap<string, string>;
  readonly #pauses: BackoffOptions;
  /** Requests without a response, or with an unexpected one. */
  repeats = 0;
  /** Those of them that a rate limit rejected. */
  limited = 0;
  /** The number of those with each status code; 0 stands for no response. */
  readonly repeatedStatuses = new Map<number, number>();

  constructor(api: string, keys: ReadonlyMap<string, string>, { maxPauseMs = PAUSE_MS }: WriterOptions = {}) {
    this.#api = api;
    this.#keys = keys;
    this.#pauses = { minMs: PAUSE_MS, maxMs: maxPauseMs, jitter: 0.2 };
  }

  /**
   * The `data` of the acknowledgement. Throws if the request is rejected with a 4xx, which no fault explains. `key` is the
   * Idempotency-Key; a new one by default.
   */
  async post(guild: string, path: string, body: object, key?: string): Promise<Data> {
    return this.#untilAnswered(guild, path, writeOf('POST', guild, body, key));
  }

  /** The same as `post`, with another method. */
  async write(method: string, guild: string, path: string, body: object): Promise<Data> {
    return this.#untilAnswered(guild, path, writeOf(method, guild, body));
  }

  /** Sends a write without repeating it. Returns undefined if it was not acknowledged: it may have happened or not. */
  async attempt(guild: string, path: string, body: object): Promise<Data> {
    const answer = await this.#ask(guild, path, writeOf('POST', guild, body));
    return answer?.ok ? ((await answer.json()) as { data: Data }).data : undefined;
  }

  async get(guild: string, path: string): Promise<Data> {
    return this.#untilAnswered(guild, path, { headers: { 'x-guild-id': guild } });
  }

  async #untilAnswered(guild: string, path: string, init: Init): Promise<Data> {
    for (let attempts = 1; ; attempts++) {
      const answer = await this.#ask(guild, path, init);
      if (answer?.ok) return ((await answer.json()) as { data: Data }).data;
      const isLater = !answer || answer.status >= 500 || answer.headers.has('retry-after');
      if (!isLater) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      this.repeats++;
      const status = answer?.status ?? 0;
      this.repeatedStatuses.set(status, (this.repeatedStatuses.get(status) ?? 0) + 1);
      if (answer?.status === 429) this.limited++;
      await wait(backoffMs(attempts, this.#pauses));
    }
  }

  /** Undefined if no response came. */
  async #ask(guild: string, path: string, init: Init): Promise<Response | undefined> {
    try {
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const headers = { ...init.headers, 'x-api-key': this.#keys.get(guild) as string };
      const response = await fetch(this.#api + path, { ...init, headers, signal });
      // A truncated body is not an acknowledgement.
      const body = await response.arrayBuffer();
      return new Response(body, { status: response.status, headers: response.headers });
    } catch {
      return undefined;
    }
  }
}

function writeOf(method: string, guild: string, body: object, key: string = randomUUID()): Init {
  const headers = { 'content-type': 'application/json', 'idempotency-key': key };
  return { method, headers, body: JSON.stringify({ guild_id: guild, ...body }) };
}

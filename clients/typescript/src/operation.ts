/** What the client needs to know about an operation of the API. The descriptions are generated from the route table. */
export interface Operation {
  /** The operationId in the OpenAPI document. */
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path from the base URL on, with parameters as `{name}`. */
  readonly path: string;
  /** Where the request names its guild; `none` if it names no guild. */
  readonly guild: 'path' | 'header' | 'body' | 'none';
  /** True if the arguments that are not in the path are sent as a JSON body instead of in the query. */
  readonly hasBody: boolean;
  /** True if the operation changes data, so that it is sent with an `Idempotency-Key`. */
  readonly writes: boolean;
  /** The rate limit category and its requests per minute. */
  readonly limit?: { readonly category: string; readonly requests: number };
}

/** A response as the hook `onResponse` receives it, before it is turned into data or an error. */
export interface ResponseInfo {
  /** The operationId. */
  readonly operation: string;
  /** The number of this attempt, starting at 1. */
  readonly attempt: number;
  readonly status: number;
  readonly headers: Headers;
  /** The body as parsed JSON; undefined if it is not JSON, or a stream. */
  readonly body: unknown;
}

/** Options of a client that a single call may override. */
export interface SharedOptions {
  /** Milliseconds after which one attempt is given up; a long poll gets its `wait` in addition. 15,000 by default. */
  timeoutMs?: number | undefined;
  /** Milliseconds after which no further attempt is made, and a running one is given up. 60,000 by default. */
  totalTimeoutMs?: number | undefined;
  /** Maximum number of attempts, with the first one; 1 disables retries. 5 by default. */
  maxAttempts?: number | undefined;
  /** Receives every response, also of attempts that are repeated. Use it for logs, metrics and response headers. */
  onResponse?: ((response: ResponseInfo) => void) | undefined;
}

/** Options of a single call. */
export interface CallOptions extends SharedOptions {
  /** Aborts the call, its waits and its retries; the call then rejects with the reason of the signal. */
  signal?: AbortSignal | undefined;
  /**
   * The `Idempotency-Key` of a write. By default each call gets a random one, which all of its attempts share. Set your
   * own to repeat a call safely after a restart of your process.
   */
  idempotencyKey?: string | undefined;
  /** Further request headers, such as `X-Request-ID`. */
  headers?: Readonly<Record<string, string>> | undefined;
}

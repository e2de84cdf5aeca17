const RETRYABLE_STATUSES = new Set([408, 429, 500, 502, 503, 504]);

function isTemporary(status: number, retryAfter: number | undefined): boolean {
  // 409 with Retry-After: the first request with this idempotency key is still running.
  return RETRYABLE_STATUSES.has(status) || (status === 409 && retryAfter !== undefined);
}

/** The common class of all errors of this client. An aborted call rejects with the reason of its signal instead. */
export abstract class GuildDataError extends Error {
  /** The error code of the API, or `NETWORK_ERROR`, `CLIENT_TIMEOUT` or `INVALID_RESPONSE`. */
  abstract readonly code: string;
  /** The operationId of the call. */
  readonly operation: string;

  constructor(operation: string, message: string) {
    super(`${operation}: ${message}`);
    this.operation = operation;
  }

  /** Contains the error code instead of the class name, because bundlers shorten class names. */
  override get name(): string {
    return `GuildDataError [${this.code}]`;
  }

  /** True if the same call may succeed later. The client has already repeated it as often as its options allow. */
  get isRetryable(): boolean {
    return true;
  }

  /** The seconds to wait before the next attempt, if the API said so. */
  get retryAfter(): number | undefined {
    return undefined;
  }
}

/** No response: the connection could not be made, or was lost before the response was complete. */
export class NetworkError extends GuildDataError {
  readonly code = 'NETWORK_ERROR';
}

/** The response did not arrive within `timeoutMs` or `totalTimeoutMs`. */
export class ClientTimeoutError extends GuildDataError {
  readonly code = 'CLIENT_TIMEOUT';
}

/** What is known about a response with an error. */
export interface ErrorResponse {
  readonly operation: string;
  readonly status: number;
  readonly message: string;
  /** The `X-Request-Id` of the response. Include it when you report a problem. */
  readonly requestId: string | undefined;
  readonly retryAfter: number | undefined;
}

/** A response that did not come from the API, such as the page of a proxy. */
export class InvalidResponseError extends GuildDataError {
  readonly code = 'INVALID_RESPONSE';
  readonly status: number;
  readonly requestId: string | undefined;
  readonly #retryAfter: number | undefined;

  constructor({ operation, status, message, requestId, retryAfter }: ErrorResponse) {
    super(operation, message);
    this.status = status;
    this.requestId = requestId;
    this.#retryAfter = retryAfter;
  }

  override get isRetryable(): boolean {
    return isTemporary(this.status, this.#retryAfter);
  }

  override get retryAfter(): number | undefined {
    return this.#retryAfter;
  }
}

/** An error response of the API. Each error code has a class of its own, in which `code` and `details` are exact. */
export class ApiError<
  Details extends { readonly code: string } = { readonly code: string; readonly [field: string]: unknown },
> extends GuildDataError {
  readonly code: Details['code'];
  readonly details: Details;
  readonly status: number;
  readonly requestId: string | undefined;
  readonly #retryAfter: number | undefined;

  constructor(response: ErrorResponse, details: Details) {
    super(response.operation, response.message);
    this.code = details.code;
    this.details = details;
    this.status = response.status;
    this.requestId = response.requestId;
    this.#retryAfter = response.retryAfter;
  }

  override get isRetryable(): boolean {
    return isTemporary(this.status, this.#retryAfter);
  }

  override get retryAfter(): number | undefined {
    return this.#retryAfter;
  }
}

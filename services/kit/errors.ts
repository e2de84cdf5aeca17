import { status as grpcStatus } from '@grpc/grpc-js';
import { MAX_FAULTS } from '#proto/rest/messages.ts';

/**
 * Every error that can be sent to a client or caller, with its HTTP status, gRPC status and default message. The error
 * codes are part of the public contract (section 1).
 */
export const ERRORS = {
  INVALID_REQUEST: { http: 400, grpc: grpcStatus.INVALID_ARGUMENT, text: 'The request is not valid' },
  INVALID_TARGET: {
    http: 400,
    grpc: grpcStatus.INVALID_ARGUMENT,
    text: 'The target does not exist on the game platform',
  },
  MISSING_API_KEY: { http: 401, grpc: grpcStatus.UNAUTHENTICATED, text: 'An API key is required' },
  INVALID_API_KEY: { http: 401, grpc: grpcStatus.UNAUTHENTICATED, text: 'Invalid API key for this guild' },
  API_KEY_EXPIRED: { http: 401, grpc: grpcStatus.UNAUTHENTICATED, text: 'The API key has expired' },
  GUILD_MISMATCH: { http: 403, grpc: grpcStatus.PERMISSION_DENIED, text: 'API key does not match target guild' },
  MISSING_SCOPE: { http: 403, grpc: grpcStatus.PERMISSION_DENIED, text: 'The API key lacks the required scope' },
  IP_NOT_ALLOWED: { http: 403, grpc: grpcStatus.PERMISSION_DENIED, text: "The address is not on the key's allowlist" },
  NOT_SIGNED_IN: { http: 401, grpc: grpcStatus.UNAUTHENTICATED, text: 'Sign in to the console first' },
  ROLE_TOO_LOW: { http: 403, grpc: grpcStatus.PERMISSION_DENIED, text: 'Your role in this guild does not allow this' },
  INVALID_SIGNATURE: { http: 401, grpc: grpcStatus.UNAUTHENTICATED, text: 'Invalid request signature' },
  NOT_FOUND: { http: 404, grpc: grpcStatus.NOT_FOUND, text: 'Not found' },
  ROUTE_NOT_FOUND: { http: 404, grpc: grpcStatus.UNIMPLEMENTED, text: 'The path does not exist' },
  METHOD_NOT_ALLOWED: { http: 405, grpc: grpcStatus.UNIMPLEMENTED, text: 'The path does not support this method' },
  REQUEST_TIMEOUT: { http: 408, grpc: grpcStatus.DEADLINE_EXCEEDED, text: 'The request did not arrive in time' },
  CONFLICT: { http: 409, grpc: grpcStatus.ALREADY_EXISTS, text: 'The request conflicts with stored data' },
  QUOTA_EXCEEDED: { http: 409, grpc: grpcStatus.RESOURCE_EXHAUSTED, text: 'The guild has reached a quota' },
  EVENTS_GONE: { http: 410, grpc: grpcStatus.OUT_OF_RANGE, text: 'The log does not have the events after this seq' },
  PAYLOAD_TOO_LARGE: { http: 413, grpc: grpcStatus.OUT_OF_RANGE, text: 'The body is larger than 64 KiB' },
  UNSUPPORTED_MEDIA_TYPE: { http: 415, grpc: grpcStatus.INVALID_ARGUMENT, text: 'The body must be application/json' },
  EXPECTATION_FAILED: { http: 417, grpc: grpcStatus.INVALID_ARGUMENT, text: 'The Expect header cannot be fulfilled' },
  NOT_APPLICABLE: {
    http: 422,
    grpc: grpcStatus.FAILED_PRECONDITION,
    text: 'The request cannot be applied in the current state',
  },
  RATE_LIMITED: { http: 429, grpc: grpcStatus.RESOURCE_EXHAUSTED, text: 'Rate limit exceeded' },
  HEADERS_TOO_LARGE: { http: 431, grpc: grpcStatus.OUT_OF_RANGE, text: 'The headers are too large or too many' },
  INTERNAL: { http: 500, grpc: grpcStatus.INTERNAL, text: 'Something went wrong on our side' },
  PLATFORM_ERROR: {
    http: 502,
    grpc: grpcStatus.UNKNOWN,
    text: 'The platform rejected the request or sent an invalid response',
  },
  UNAVAILABLE: { http: 503, grpc: grpcStatus.UNAVAILABLE, text: 'A part of the service is down, try again soon' },
  TIMEOUT: { http: 504, grpc: grpcStatus.DEADLINE_EXCEEDED, text: 'A part of the service took too long' },
} as const;

export type ErrorCode = keyof typeof ERRORS;

/** The HTTP statuses of server errors. */
export const SERVER_ERRORS = [500, 502, 503, 504] as const satisfies readonly (typeof ERRORS)[ErrorCode]['http'][];

/** The error codes that only the console returns, and no route to the caller of the API. */
export const CONSOLE_ERRORS = ['NOT_SIGNED_IN', 'ROLE_TOO_LOW'] as const satisfies readonly ErrorCode[];

/** The error codes that no route returns to the caller of the API: those of the console, and of `/interactions`. */
const NOT_PUBLIC = [...CONSOLE_ERRORS, 'INVALID_SIGNATURE'] as const satisfies readonly ErrorCode[];

/** The error codes of the API. */
export type PublicErrorCode = Exclude<ErrorCode, (typeof NOT_PUBLIC)[number]>;
export const PUBLIC_CODES = Object.keys(ERRORS).filter((code) => !NOT_PUBLIC.some((own) => own === code)) as [
  PublicErrorCode,
  ...PublicErrorCode[],
];

/** One validation error of a request, as listed in `details.errors`. */
export interface Fault {
  /** The place of the invalid value: `body.x`, `query.x`, `path.x` or `header.X-Guild-ID`; `request.x` over gRPC. */
  path: string;
  message: string;
}

export interface ApiErrorOptions {
  /** The message sent to the client; the default message of the error code if left out. */
  message?: string;
  /** Further data for programs, sent to the client in `details` next to the error code. */
  details?: Record<string, unknown>;
  /** The seconds after which the client may retry, rounded up and sent as Retry-After; 1 by default for UNAVAILABLE. */
  retryAfter?: number;
  /** The error that caused this error. It is logged and never sent to the client. */
  cause?: unknown;
}

/** The lowest HTTP status of a server error; errors with a lower status reject the request. */
export const SERVER_ERRORS_FROM = 500;

/**
 * The only class of error that is sent to clients. Domain code throws an ApiError with an error code, and does not
 * choose HTTP or gRPC statuses.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;
  readonly retryAfter: number | undefined;

  static {
    this.prototype.name = 'ApiError';
  }

  constructor(code: ErrorCode, options: ApiErrorOptions = {}) {
    const limit = Error.stackTraceLimit;
    // A rejected request is identified by its error code. A stack trace would cost more than all other work on
    // rejecting it.
    if (ERRORS[code].http < SERVER_ERRORS_FROM) Error.stackTraceLimit = 0;
    super(options.message ?? ERRORS[code].text, options.cause === undefined ? undefined : { cause: options.cause });
    Error.stackTraceLimit = limit;
    this.code = code;
    this.details = options.details ?? {};
    const retryAfter = options.retryAfter ?? (code === 'UNAVAILABLE' ? 1 : undefined);
    this.retryAfter = retryAfter === undefined ? undefined : Math.ceil(retryAfter);
  }

  get httpStatus(): number {
    return ERRORS[this.code].http;
  }
}

/** Returns the error INVALID_REQUEST (400) that lists all validation errors of a request, at most MAX_FAULTS. */
export function invalidRequest(faults: Fault[], message?: string): ApiError {
  const errors = faults.slice(0, MAX_FAULTS);
  return new ApiError('INVALID_REQUEST', { message: message ?? summary(errors), details: { errors } });
}

/** The quotas of a guild. The error QUOTA_EXCEEDED names the reached quota in `details.quota`. */
export type Quota = 'live_servers' | 'shield_entries' | 'staff_actions_per_day' | 'webhooks';

/** Returns the error QUOTA_EXCEEDED (409), which names the quota that the guild has reached and its limit. */
export function quotaExceeded(quota: Quota, limit: number, message: string): ApiError {
  return new ApiError('QUOTA_EXCEEDED', { message, details: { quota, limit } });
}

/** Returns MISSING_SCOPE for a route that needs `scope`. */
export function missingScope(scope: string): ApiError {
  return new ApiError('MISSING_SCOPE', {
    message: `The API key lacks the scope ${scope}`,
    details: { required_scope: scope },
  });
}

/**
 * Returns the error METHOD_NOT_ALLOWED (405), which lists the supported methods in its message, in `details` and in the
 * header Allow. HEAD is supported wherever GET is.
 */
export function methodNotAllowed(methods: readonly string[]): ApiError {
  const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
  return new ApiError('METHOD_NOT_ALLOWED', { message: `This path supports ${allow}`, details: { allow } });
}

function summary(errors: Fault[]): string {
  const [first] = errors;
  if (!first) return ERRORS.INVALID_REQUEST.text;
  const rest = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return `${first.path} ${first.message}${rest}`;
}

/**
 * The result of a check: an error if the check rejects the request, otherwise undefined. Checks return the error,
 * because throwing costs more.
 */
export type Rejection = ApiError | undefined;

/** Converts a thrown value to an ApiError. A value that is not an ApiError becomes the cause of an INTERNAL error. */
export function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError('INTERNAL', { cause: error });
}

/** True if an error means that this process or a dependency failed; false if it rejects the client's request. */
export function isServerError(error: ApiError): boolean {
  return error.httpStatus >= SERVER_ERRORS_FROM;
}

/** True if a call failed because of the called service or the connection to it; false if the service rejected the request. */
export function isOutage(error: unknown): boolean {
  return !(error instanceof ApiError) || isServerError(error);
}

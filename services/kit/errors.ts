import { status as grpcStatus } from '@grpc/grpc-js';
import { MAX_FAULTS } from '#proto/rest/messages.ts';

/**
 * Every error that a caller can be told: its HTTP status, its gRPC status, and the text where no better one is given.
 * The codes are those of the contract, section 1.
 */
export const ERRORS = {
  INVALID_REQUEST: { http: 400, grpc: grpcStatus.INVALID_ARGUMENT, text: 'The request is not valid' },
  INVALID_TARGET: { http: 400, grpc: grpcStatus.INVALID_ARGUMENT, text: 'The game platform knows no such target' },
  MISSING_API_KEY: { http: 401, grpc: grpcStatus.UNAUTHENTICATED, text: 'An API key is required' },
  INVALID_API_KEY: { http: 401, grpc: grpcStatus.UNAUTHENTICATED, text: 'Invalid API key for this guild' },
  API_KEY_EXPIRED: { http: 401, grpc: grpcStatus.UNAUTHENTICATED, text: 'The API key has expired' },
  GUILD_MISMATCH: { http: 403, grpc: grpcStatus.PERMISSION_DENIED, text: 'API key does not match target guild' },
  MISSING_SCOPE: { http: 403, grpc: grpcStatus.PERMISSION_DENIED, text: 'The API key lacks the required scope' },
  IP_NOT_ALLOWED: { http: 403, grpc: grpcStatus.PERMISSION_DENIED, text: "The address is not on the key's allowlist" },
  NOT_FOUND: { http: 404, grpc: grpcStatus.NOT_FOUND, text: 'Not found' },
  ROUTE_NOT_FOUND: { http: 404, grpc: grpcStatus.UNIMPLEMENTED, text: 'There is no such path' },
  METHOD_NOT_ALLOWED: { http: 405, grpc: grpcStatus.UNIMPLEMENTED, text: 'The path does not take this method' },
  REQUEST_TIMEOUT: { http: 408, grpc: grpcStatus.DEADLINE_EXCEEDED, text: 'The request did not arrive in time' },
  CONFLICT: { http: 409, grpc: grpcStatus.ALREADY_EXISTS, text: 'The request conflicts with what is stored' },
  QUOTA_EXCEEDED: { http: 409, grpc: grpcStatus.RESOURCE_EXHAUSTED, text: 'The guild has reached a quota' },
  PAYLOAD_TOO_LARGE: { http: 413, grpc: grpcStatus.OUT_OF_RANGE, text: 'The body is larger than 64 KiB' },
  UNSUPPORTED_MEDIA_TYPE: { http: 415, grpc: grpcStatus.INVALID_ARGUMENT, text: 'The body must be application/json' },
  EXPECTATION_FAILED: { http: 417, grpc: grpcStatus.INVALID_ARGUMENT, text: 'The expectation can not be met' },
  NOT_APPLICABLE: { http: 422, grpc: grpcStatus.FAILED_PRECONDITION, text: 'This can not be done here' },
  RATE_LIMITED: { http: 429, grpc: grpcStatus.RESOURCE_EXHAUSTED, text: 'Rate limit exceeded' },
  HEADERS_TOO_LARGE: { http: 431, grpc: grpcStatus.OUT_OF_RANGE, text: 'The headers are too large or too many' },
  INTERNAL: { http: 500, grpc: grpcStatus.INTERNAL, text: 'Something went wrong on our side' },
  PLATFORM_ERROR: { http: 502, grpc: grpcStatus.UNKNOWN, text: 'The platform refused or gave no readable answer' },
  UNAVAILABLE: { http: 503, grpc: grpcStatus.UNAVAILABLE, text: 'A part of the service is down, try again soon' },
  TIMEOUT: { http: 504, grpc: grpcStatus.DEADLINE_EXCEEDED, text: 'A part of the service took too long' },
} as const;

export type ErrorCode = keyof typeof ERRORS;

/** One fault of a request, as told in `details.errors`. */
export interface Fault {
  /** `body.x`, `query.x`, `path.x` or `header.X-Guild-ID`; `request.x` over gRPC. */
  path: string;
  message: string;
}

export interface ApiErrorOptions {
  /** For the caller; the table's text when left out. */
  message?: string;
  /** For the caller, beside `code`. */
  details?: Record<string, unknown>;
  /** Seconds, rounded up; told as Retry-After. UNAVAILABLE always has one. */
  retryAfter?: number;
  /** For the log alone; never told to the caller. */
  cause?: unknown;
}

/** HTTP statuses below it refuse the request; from here on it is our fault, or that of a part that we need. */
const FAULTS_FROM = 500;

/** The one kind of error that a caller is told. Domain code throws it and knows no status. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;
  readonly retryAfter: number | undefined;
  /** Its envelope as text, once there is one: an error that is told again and again is written once. */
  written: string | undefined;

  static {
    this.prototype.name = 'ApiError';
  }

  constructor(code: ErrorCode, options: ApiErrorOptions = {}) {
    const limit = Error.stackTraceLimit;
    // Where a refusal comes from is told by its code, and gathering the stack costs more than all of the rest.
    if (ERRORS[code].http < FAULTS_FROM) Error.stackTraceLimit = 0;
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

/** A 400 that lists all faults at once, up to MAX_FAULTS. */
export function invalidRequest(faults: Fault[], message?: string): ApiError {
  const errors = faults.slice(0, MAX_FAULTS);
  return new ApiError('INVALID_REQUEST', { message: message ?? summary(errors), details: { errors } });
}

/** The quotas of a guild that `details.quota` of QUOTA_EXCEEDED names. */
export type Quota = 'live_servers' | 'shield_entries' | 'staff_actions_per_day';

/** A 409 that names the quota that the guild has reached, and how much it allows. */
export function quotaExceeded(quota: Quota, limit: number, message: string): ApiError {
  return new ApiError('QUOTA_EXCEEDED', { message, details: { quota, limit } });
}

/** A 405 that names what the path takes, also in the header Allow; HEAD goes where GET goes. */
export function methodNotAllowed(methods: readonly string[]): ApiError {
  const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
  return new ApiError('METHOD_NOT_ALLOWED', { message: `This path takes ${allow}`, details: { allow } });
}

function summary(errors: Fault[]): string {
  const [first] = errors;
  if (!first) return ERRORS.INVALID_REQUEST.text;
  const rest = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return `${first.path} ${first.message}${rest}`;
}

/** What a check says: why a request is refused, or nothing. Returned where refusals are many: throwing costs more. */
export type Refusal = ApiError | undefined;

/** Any thrown value as an ApiError; what is not one becomes INTERNAL with the value as its cause. */
export function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError('INTERNAL', { cause: error });
}

/** Whether an error is a fault of ours or of a part we depend on, rather than a refusal. */
export function isFault(error: ApiError): boolean {
  return error.httpStatus >= FAULTS_FROM;
}

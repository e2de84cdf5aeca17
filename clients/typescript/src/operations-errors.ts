// Generated from the route table by `npm run clients`. Do not edit.
import { ApiError } from './errors.ts';

/** A fault of a request. */
export type Fault = {
  /** `body.x`, `query.x`, `path.x` or `header.X-Guild-ID` */
  path: string;
  message: string;
};

export type InvalidRequestDetails = {
  code: 'INVALID_REQUEST';
  /** All faults of the request */
  errors: Fault[];
};

export type InvalidTargetDetails = {
  code: 'INVALID_TARGET';
  /** All faults of the request */
  errors?: Fault[];
};

export type MissingApiKeyDetails = {
  code: 'MISSING_API_KEY';
};

export type InvalidApiKeyDetails = {
  code: 'INVALID_API_KEY';
};

export type ApiKeyExpiredDetails = {
  code: 'API_KEY_EXPIRED';
};

export type GuildMismatchDetails = {
  code: 'GUILD_MISMATCH';
};

export type MissingScopeDetails = {
  code: 'MISSING_SCOPE';
  /** The scope that the key needs */
  required_scope: string;
};

export type IpNotAllowedDetails = {
  code: 'IP_NOT_ALLOWED';
  /** The address of the client; null if it is not known */
  client_ip: string | null;
};

export type NotFoundDetails = {
  code: 'NOT_FOUND';
};

export type RouteNotFoundDetails = {
  code: 'ROUTE_NOT_FOUND';
};

export type MethodNotAllowedDetails = {
  code: 'METHOD_NOT_ALLOWED';
};

export type RequestTimeoutDetails = {
  code: 'REQUEST_TIMEOUT';
};

export type ConflictDetails = {
  code: 'CONFLICT';
  /** The existing link, if an account is linked already */
  conflict?: {
    chat_id: string;
    game_id: number;
  };
};

export type QuotaExceededDetails = {
  code: 'QUOTA_EXCEEDED';
  /** Name of the quota */
  quota: string;
  /** Maximum of the quota */
  limit: number;
};

export type EventsGoneDetails = {
  code: 'EVENTS_GONE';
  /** `seq` of the oldest retained event */
  oldest_seq: number;
  /** `seq` of the newest event */
  newest_seq: number;
};

export type PayloadTooLargeDetails = {
  code: 'PAYLOAD_TOO_LARGE';
};

export type UnsupportedMediaTypeDetails = {
  code: 'UNSUPPORTED_MEDIA_TYPE';
};

export type ExpectationFailedDetails = {
  code: 'EXPECTATION_FAILED';
};

export type NotApplicableDetails = {
  code: 'NOT_APPLICABLE';
};

export type RateLimitedDetails = {
  code: 'RATE_LIMITED';
  /** Category of the exceeded limit */
  category: string;
  /** Requests per window */
  limit: number;
  /** Length of the window in seconds */
  window: number;
  /** Seconds to wait before the next retry */
  retryAfter: number;
};

export type HeadersTooLargeDetails = {
  code: 'HEADERS_TOO_LARGE';
};

export type InternalDetails = {
  code: 'INTERNAL';
};

export type PlatformErrorDetails = {
  code: 'PLATFORM_ERROR';
};

export type UnavailableDetails = {
  code: 'UNAVAILABLE';
};

export type TimeoutDetails = {
  code: 'TIMEOUT';
};

/** The error `INVALID_REQUEST`. */
export class InvalidRequestError extends ApiError<InvalidRequestDetails> {}

/** The error `INVALID_TARGET`. */
export class InvalidTargetError extends ApiError<InvalidTargetDetails> {}

/** The error `MISSING_API_KEY`. */
export class MissingApiKeyError extends ApiError<MissingApiKeyDetails> {}

/** The error `INVALID_API_KEY`. */
export class InvalidApiKeyError extends ApiError<InvalidApiKeyDetails> {}

/** The error `API_KEY_EXPIRED`. */
export class ApiKeyExpiredError extends ApiError<ApiKeyExpiredDetails> {}

/** The error `GUILD_MISMATCH`. */
export class GuildMismatchError extends ApiError<GuildMismatchDetails> {}

/** The error `MISSING_SCOPE`. */
export class MissingScopeError extends ApiError<MissingScopeDetails> {}

/** The error `IP_NOT_ALLOWED`. */
export class IpNotAllowedError extends ApiError<IpNotAllowedDetails> {}

/** The error `NOT_FOUND`. */
export class NotFoundError extends ApiError<NotFoundDetails> {}

/** The error `ROUTE_NOT_FOUND`. */
export class RouteNotFoundError extends ApiError<RouteNotFoundDetails> {}

/** The error `METHOD_NOT_ALLOWED`. */
export class MethodNotAllowedError extends ApiError<MethodNotAllowedDetails> {}

/** The error `REQUEST_TIMEOUT`. */
export class RequestTimeoutError extends ApiError<RequestTimeoutDetails> {}

/** The error `CONFLICT`. */
export class ConflictError extends ApiError<ConflictDetails> {}

/** The error `QUOTA_EXCEEDED`. */
export class QuotaExceededError extends ApiError<QuotaExceededDetails> {}

/** The error `EVENTS_GONE`. */
export class EventsGoneError extends ApiError<EventsGoneDetails> {}

/** The error `PAYLOAD_TOO_LARGE`. */
export class PayloadTooLargeError extends ApiError<PayloadTooLargeDetails> {}

/** The error `UNSUPPORTED_MEDIA_TYPE`. */
export class UnsupportedMediaTypeError extends ApiError<UnsupportedMediaTypeDetails> {}

/** The error `EXPECTATION_FAILED`. */
export class ExpectationFailedError extends ApiError<ExpectationFailedDetails> {}

/** The error `NOT_APPLICABLE`. */
export class NotApplicableError extends ApiError<NotApplicableDetails> {}

/** The error `RATE_LIMITED`. */
export class RateLimitedError extends ApiError<RateLimitedDetails> {}

/** The error `HEADERS_TOO_LARGE`. */
export class HeadersTooLargeError extends ApiError<HeadersTooLargeDetails> {}

/** The error `INTERNAL`. */
export class InternalError extends ApiError<InternalDetails> {}

/** The error `PLATFORM_ERROR`. */
export class PlatformErrorError extends ApiError<PlatformErrorDetails> {}

/** The error `UNAVAILABLE`. */
export class UnavailableError extends ApiError<UnavailableDetails> {}

/** The error `TIMEOUT`. */
export class TimeoutError extends ApiError<TimeoutDetails> {}

/** The class of each error code. */
export const ERROR_CLASSES = {
  INVALID_REQUEST: InvalidRequestError,
  INVALID_TARGET: InvalidTargetError,
  MISSING_API_KEY: MissingApiKeyError,
  INVALID_API_KEY: InvalidApiKeyError,
  API_KEY_EXPIRED: ApiKeyExpiredError,
  GUILD_MISMATCH: GuildMismatchError,
  MISSING_SCOPE: MissingScopeError,
  IP_NOT_ALLOWED: IpNotAllowedError,
  NOT_FOUND: NotFoundError,
  ROUTE_NOT_FOUND: RouteNotFoundError,
  METHOD_NOT_ALLOWED: MethodNotAllowedError,
  REQUEST_TIMEOUT: RequestTimeoutError,
  CONFLICT: ConflictError,
  QUOTA_EXCEEDED: QuotaExceededError,
  EVENTS_GONE: EventsGoneError,
  PAYLOAD_TOO_LARGE: PayloadTooLargeError,
  UNSUPPORTED_MEDIA_TYPE: UnsupportedMediaTypeError,
  EXPECTATION_FAILED: ExpectationFailedError,
  NOT_APPLICABLE: NotApplicableError,
  RATE_LIMITED: RateLimitedError,
  HEADERS_TOO_LARGE: HeadersTooLargeError,
  INTERNAL: InternalError,
  PLATFORM_ERROR: PlatformErrorError,
  UNAVAILABLE: UnavailableError,
  TIMEOUT: TimeoutError,
} as const;

/** The code of an error of the API. Later versions of the API may have more. */
export type ErrorCode = keyof typeof ERROR_CLASSES;

/** An error of the API with a known code. A comparison of `code` narrows `details`. */
export type KnownError = InstanceType<(typeof ERROR_CLASSES)[ErrorCode]>;

/** True for errors of the API whose code this version of the client knows, so that `code` narrows `details`. */
export function isKnownError(error: unknown): error is KnownError {
  return error instanceof ApiError && error.code in ERROR_CLASSES;
}

import { ApiError, type ApiErrorOptions, ERRORS, PUBLIC_CODES, type PublicErrorCode } from '#kit/errors.ts';
import { CATEGORIES, WINDOW_SECONDS } from '#proto/rest/limits.ts';
import type { Route } from '#proto/rest/route.ts';
import { MAX_WEBHOOKS } from '#proto/rest/webhooks.ts';

/** An error that a route can return, as the OpenAPI document describes it. */
export interface RouteError {
  code: PublicErrorCode;
  /** The error as it is sent, for the example. */
  error: ApiError;
  /** The name of the error's example. Unlike `code` the name is unique among the errors of a route. */
  name: string;
  /** Explains what the error means, and what the client can do about it. */
  meaning: string;
  advice: string;
  /** True if the error means something on its route that it does not mean on all routes. */
  isSpecial: boolean;
}

/** For each error code, the advice to clients in the OpenAPI document. */
export const ADVICE: Record<PublicErrorCode, string> = {
  INVALID_REQUEST: 'Fix every fault in `details.errors` and send the request again.',
  INVALID_TARGET: 'Check the ID on the game platform.',
  MISSING_API_KEY: 'Send the key as `X-API-Key` or in `Authorization`.',
  INVALID_API_KEY: 'Check that the key is complete, belongs to this guild and was not revoked.',
  API_KEY_EXPIRED: 'Request a new key.',
  GUILD_MISMATCH: 'Pass the ID of the guild that the key belongs to, or use a key of the other guild.',
  MISSING_SCOPE: 'Use a key with the scope in `details.required_scope`.',
  IP_NOT_ALLOWED: "Add `details.client_ip` to the key's allowlist.",
  NOT_FOUND: 'Check the IDs in the request: the object does not exist, or not in this guild.',
  ROUTE_NOT_FOUND: 'Check the path, including case, slashes and the prefix `/api/v1`.',
  METHOD_NOT_ALLOWED: 'Use a method from the `Allow` header.',
  REQUEST_TIMEOUT: 'Send the request again on a new connection, without pauses.',
  CONFLICT: 'Read the current state before you send a different request. Repeating the same one fails again.',
  QUOTA_EXCEEDED:
    'Wait until the usage of the quota in `details.quota` decreases, or ask the operator to raise the quota.',
  EVENTS_GONE:
    'Read the current state from the other routes, and continue after `details.newest_seq`; or read what is left from `details.oldest_seq` on.',
  PAYLOAD_TOO_LARGE: 'Send a smaller body, for example fewer items per request.',
  UNSUPPORTED_MEDIA_TYPE: 'Send JSON in UTF-8 with `Content-Type: application/json`, plain or gzip.',
  EXPECTATION_FAILED: 'Do not send the `Expect` header.',
  NOT_APPLICABLE: 'Read the message: it says why the request cannot be applied.',
  RATE_LIMITED: 'Wait for `details.retryAfter` seconds, then retry.',
  HEADERS_TOO_LARGE: 'Send fewer or shorter headers.',
  INTERNAL: 'Report it with the `X-Request-Id` of the response.',
  PLATFORM_ERROR: 'Retry later. Retry a write with the same `Idempotency-Key`.',
  UNAVAILABLE:
    'Wait for `Retry-After` seconds, then retry. Retry a write with the same `Idempotency-Key`. If the message says that too many requests of your guild are in flight, send fewer concurrent requests.',
  TIMEOUT: 'Retry. Retry a write with the same `Idempotency-Key`.',
};

/**
 * Errors of requests that are rejected before their route is known. The OpenAPI document lists them outside the routes.
 */
export const ERRORS_WITHOUT_ROUTE = [
  'ROUTE_NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'REQUEST_TIMEOUT',
  'EXPECTATION_FAILED',
  'HEADERS_TOO_LARGE',
] as const satisfies PublicErrorCode[];

/**
 * The codes of errors that every operation can return and that mean the same everywhere. They are the `default` response
 * of each operation.
 */
export const DEFAULT_ERRORS = [
  'INVALID_REQUEST',
  'MISSING_API_KEY',
  'INVALID_API_KEY',
  'API_KEY_EXPIRED',
  'GUILD_MISMATCH',
  'MISSING_SCOPE',
  'IP_NOT_ALLOWED',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'RATE_LIMITED',
  'INTERNAL',
  'UNAVAILABLE',
  'TIMEOUT',
] as const satisfies PublicErrorCode[];

/** Returns the errors that a route can return, by status, without those of the default response. */
export function errorsOf(route: Route): Map<number, RouteError[]> {
  const codes = PUBLIC_CODES.filter((code) => canReturn(route, code));
  const errors = codes.map((code) => routeError(code, route.errors?.[code as keyof NonNullable<Route['errors']>]));
  // A status of its own replaces the default response, so it lists all errors with this status.
  const hasOwn400 = errors.some(({ code }) => code === 'INVALID_TARGET');
  if (hasOwn400) errors.unshift(routeError('INVALID_REQUEST'));
  if (route.writes) errors.push(idempotencyConflict());
  // CONFLICT comes last, so that operations with the same codes share one response, whatever causes the conflict.
  errors.sort((a, b) => a.error.httpStatus - b.error.httpStatus || lastIfConflict(a) - lastIfConflict(b));
  return Map.groupBy(errors, ({ error }) => error.httpStatus);
}

const lastIfConflict = ({ code }: RouteError) => (code === 'CONFLICT' ? 1 : 0);

/** Returns what an error code means on every route: more than one error if it has several causes. */
export function sharedErrors(code: PublicErrorCode): RouteError[] {
  return code === 'CONFLICT' ? [routeError(code), idempotencyConflict()] : [routeError(code)];
}

function canReturn(route: Route, code: PublicErrorCode): boolean {
  switch (code) {
    case 'INVALID_TARGET':
    case 'NOT_FOUND':
    case 'CONFLICT':
    case 'QUOTA_EXCEEDED':
    case 'NOT_APPLICABLE':
    case 'EVENTS_GONE':
    case 'PLATFORM_ERROR':
      return route.errors?.[code] !== undefined;
    default:
      return ![...ERRORS_WITHOUT_ROUTE, ...DEFAULT_ERRORS].some((other) => other === code);
  }
}

function routeError(code: PublicErrorCode, special?: string): RouteError {
  const meaning = special ?? ERRORS[code].text;
  const error = new ApiError(code, { message: meaning, ...EXAMPLES[code] });
  const isSpecial = meaning !== ERRORS[code].text;
  return { code, error, name: code, meaning, advice: ADVICE[code], isSpecial };
}

/** What the examples of errors have in addition to the error's code. */
const EXAMPLES: Partial<Record<PublicErrorCode, ApiErrorOptions>> = {
  INVALID_REQUEST: {
    message: 'body.guild_id is required',
    details: { errors: [{ path: 'body.guild_id', message: 'is required' }] },
  },
  MISSING_SCOPE: { details: { required_scope: 'moderation:write' } },
  IP_NOT_ALLOWED: { details: { client_ip: '203.0.113.7' } },
  QUOTA_EXCEEDED: { details: { quota: 'webhooks', limit: MAX_WEBHOOKS } },
  EVENTS_GONE: { details: { oldest_seq: 4_711, newest_seq: 5_128 } },
  RATE_LIMITED: {
    details: { category: 'lookup', limit: CATEGORIES.lookup.limit, window: WINDOW_SECONDS, retryAfter: 17 },
    retryAfter: 17,
  },
};

function idempotencyConflict(): RouteError {
  const message = 'This Idempotency-Key was used with another body';
  return {
    code: 'CONFLICT',
    error: new ApiError('CONFLICT', { message }),
    name: 'CONFLICT_IDEMPOTENCY_KEY',
    meaning: `${message}, or the first request with it is still running`,
    advice:
      'Use a new key for another write. If the response has `Retry-After`, the first request is still running: wait and retry.',
    isSpecial: false,
  };
}

import type { z } from 'zod';
import { ApiError, type ApiErrorOptions, ERRORS, type ErrorCode, type Fault } from '#kit/errors.ts';
import { type FaultPlace, validate } from '#kit/http/validate.ts';
import { CATEGORIES, KEY_CAP_CATEGORY, WINDOW_SECONDS } from '#proto/rest/limits.ts';
import type { Route } from '#proto/rest/route.ts';

/** An error that a route can return, as the OpenAPI document describes it. */
export interface RouteError {
  error: ApiError;
  /** The name of the error's example. Unlike `details.code` the name is unique among the errors of a route. */
  name: string;
  /** Explains what the error means on this route, and what the client can do about it. */
  meaning: string;
  advice: string;
  /**
   * True if a request that gets this error counts towards the rate limit, so that the response has the rate limit
   * headers.
   */
  counted: boolean | { sometimes: string };
}

/** For each error code, the advice to clients in the OpenAPI document. */
export const ADVICE: Record<ErrorCode, string> = {
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
] as const satisfies ErrorCode[];

/** The codes of errors that mean the same on every route that can return them. */
export const SHARED_ERRORS: readonly ErrorCode[] = [
  'MISSING_API_KEY',
  'INVALID_API_KEY',
  'API_KEY_EXPIRED',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'INTERNAL',
  'UNAVAILABLE',
  'TIMEOUT',
];

/** Returns every error that a route can return, ordered by status and then as in ERRORS. */
export function errorsOf(route: Route): RouteError[] {
  const codes = Object.keys(ERRORS).filter((code) => canReturn(route, code as ErrorCode)) as ErrorCode[];
  const errors = codes.map((code) => routeError(route, code));
  if (route.writes) errors.push(idempotencyConflict());
  return errors.sort((a, b) => a.error.httpStatus - b.error.httpStatus);
}

function canReturn(route: Route, code: ErrorCode): boolean {
  switch (code) {
    case 'MISSING_SCOPE':
      return route.scope !== null;
    case 'PAYLOAD_TOO_LARGE':
    case 'UNSUPPORTED_MEDIA_TYPE':
      return route.body !== undefined;
    case 'TIMEOUT':
      return route.service !== 'gateway';
    case 'INVALID_TARGET':
    case 'NOT_FOUND':
    case 'CONFLICT':
    case 'QUOTA_EXCEEDED':
    case 'NOT_APPLICABLE':
    case 'EVENTS_GONE':
    case 'PLATFORM_ERROR':
      return route.errors?.[code] !== undefined;
    default:
      return !(ERRORS_WITHOUT_ROUTE as readonly ErrorCode[]).includes(code);
  }
}

function routeError(route: Route, code: ErrorCode): RouteError {
  const special = route.errors?.[code as keyof NonNullable<Route['errors']>];
  const meaning = special ?? ERRORS[code].text;
  const error = new ApiError(code, { message: meaning, ...exampleOptions(route, code) });
  return { error, name: code, meaning, advice: ADVICE[code], counted: isCounted(route, code) };
}

/**
 * Returns whether a request with this error counts towards the rate limit. With a 403 of the gateway it does not; with
 * a 403 of a service, which checks the guild in the body, it does.
 */
function isCounted({ method, service }: Route, code: ErrorCode): RouteError['counted'] {
  if (code === 'GUILD_MISMATCH' && method !== 'GET' && service !== 'gateway') {
    return { sometimes: "If the body's `guild_id` is that of another guild, the request was counted." };
  }
  return ERRORS[code].http !== 403;
}

/** Returns the details in the example of an error. */
function exampleOptions(route: Route, code: ErrorCode): ApiErrorOptions {
  switch (code) {
    case 'INVALID_REQUEST': {
      const errors = exampleFaults(route);
      return { message: `${errors[0]?.path} ${errors[0]?.message}`, details: { errors } };
    }
    case 'MISSING_SCOPE':
      return { details: { required_scope: route.scope } };
    case 'QUOTA_EXCEEDED':
      return { details: { ...route.quota } };
    case 'EVENTS_GONE':
      return { details: { oldest_seq: 4_711, newest_seq: 5_128 } };
    case 'IP_NOT_ALLOWED':
      return { details: { client_ip: '203.0.113.7' } };
    case 'RATE_LIMITED': {
      const category = route.category ?? KEY_CAP_CATEGORY;
      const limit = route.category ? CATEGORIES[route.category].limit : 120;
      return { details: { category, limit, window: WINDOW_SECONDS, retryAfter: 17 }, retryAfter: 17 };
    }
    default:
      return {};
  }
}

/** Returns a typical fault of a request to the route, for the example of INVALID_REQUEST. */
function exampleFaults(route: Route): Fault[] {
  if (route.guild === 'header') return [{ path: 'header.X-Guild-ID', message: 'is required' }];
  if (route.guild === 'body') return [{ path: 'body.guild_id', message: 'is required' }];
  const faults = [
    ...faultsOf(route.body, {}, 'body'),
    ...faultsOf(route.params, invalidValues(route.params), 'path'),
    ...faultsOf(route.query, invalidValues(route.query), 'query'),
    { path: 'query', message: 'has a percent-escape that cannot be read' },
  ];
  // A wrong guild ID in the path is GUILD_MISMATCH, not INVALID_REQUEST.
  return faults.filter(({ path }) => path !== 'path.guildId').slice(0, 1);
}

/** Returns the faults that the schema finds in a value. */
const faultsOf = (schema: z.ZodObject | undefined, value: unknown, place: FaultPlace): Fault[] =>
  (schema && validate(schema, value, place).faults) ?? [];

const invalidValues = (schema: z.ZodObject | undefined) =>
  Object.fromEntries(Object.keys(schema?.shape ?? {}).map((name) => [name, '-']));

function idempotencyConflict(): RouteError {
  const message = 'This Idempotency-Key was used with another body';
  return {
    error: new ApiError('CONFLICT', { message }),
    name: 'CONFLICT_IDEMPOTENCY_KEY',
    meaning: `${message}, or the first request with it is still running`,
    counted: true,
    advice:
      'Use a new key for another write. If the response has `Retry-After`, the first request is still running: wait and retry.',
  };
}

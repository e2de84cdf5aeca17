import type { z } from 'zod';
import { ApiError, type ApiErrorOptions, ERRORS, type ErrorCode, type Fault } from '#kit/errors.ts';
import { type FaultPlace, validate } from '#kit/http/validate.ts';
import { CATEGORIES, KEY_CAP_CATEGORY, WINDOW_SECONDS } from '#proto/rest/limits.ts';
import type { Route } from '#proto/rest/route.ts';

/** One error that a route can give. */
export interface RouteError {
  error: ApiError;
  /** Names the example of it; unlike `details.code` different for each. */
  name: string;
  /** What it means on this route, and what its caller can do. */
  meaning: string;
  advice: string;
  /** Whether the request was counted, so that the response has the rate limit headers; `sometimes` says when. */
  counted: boolean | { sometimes: string };
}

/** What a caller can do about an error. */
export const ADVICE: Record<ErrorCode, string> = {
  INVALID_REQUEST: 'Mend every fault that `details.errors` lists and send it again.',
  INVALID_TARGET: 'Check the ID on the game platform.',
  MISSING_API_KEY: 'Send the key as `X-API-Key` or in `Authorization`.',
  INVALID_API_KEY: 'Check that the key is complete, of this guild and not revoked.',
  API_KEY_EXPIRED: 'Ask for a new key.',
  GUILD_MISMATCH: 'Name the guild that the key belongs to, or use the key of that guild.',
  MISSING_SCOPE: 'Ask for a key with the scope in `details.required_scope`.',
  IP_NOT_ALLOWED: "Add `details.client_ip` to the key's allowlist.",
  NOT_FOUND: 'Nothing to mend in the request: what it names is not there, or not in this guild.',
  ROUTE_NOT_FOUND: 'Check the path: case, slashes and `/api/v1` count.',
  METHOD_NOT_ALLOWED: 'Use a method that the `Allow` header names.',
  REQUEST_TIMEOUT: 'Send the request again, faster or on a new connection.',
  CONFLICT: 'Read what is stored now and decide again; the same request will not succeed.',
  QUOTA_EXCEEDED: 'Wait until less is counted towards the quota in `details.quota`, or ask the operator to raise it.',
  PAYLOAD_TOO_LARGE: 'Send less at once.',
  UNSUPPORTED_MEDIA_TYPE: 'Send JSON in UTF-8 with `Content-Type: application/json`, plain or gzip.',
  EXPECTATION_FAILED: 'Leave the `Expect` header out.',
  NOT_APPLICABLE: 'The message says what stands in the way.',
  RATE_LIMITED: 'Wait for `details.retryAfter` seconds, then send it again.',
  HEADERS_TOO_LARGE: 'Send fewer or shorter headers.',
  INTERNAL: 'Report it with the `X-Request-Id` of the answer.',
  PLATFORM_ERROR: 'Try again later, a write with the same `Idempotency-Key`.',
  UNAVAILABLE:
    'Wait for `Retry-After` seconds, then send it again, a write with the same `Idempotency-Key`. If the message says that too many requests of your guild are in flight, send fewer at once.',
  TIMEOUT: 'Send it again, a write with the same `Idempotency-Key`.',
};

/** What happens to a request before any route is known, and so on none in particular. */
export const ERRORS_WITHOUT_ROUTE = [
  'ROUTE_NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'REQUEST_TIMEOUT',
  'EXPECTATION_FAILED',
  'HEADERS_TOO_LARGE',
] as const satisfies ErrorCode[];

/** Errors that read the same on every route that can give them. */
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

/** Every error that a route can give, by status and then in the order of the table of errors. */
export function errorsOf(route: Route): RouteError[] {
  const codes = Object.keys(ERRORS).filter((code) => canGive(route, code as ErrorCode)) as ErrorCode[];
  const errors = codes.map((code) => routeError(route, code));
  if (route.writes) errors.push(keyReused());
  return errors.sort((a, b) => a.error.httpStatus - b.error.httpStatus);
}

function canGive(route: Route, code: ErrorCode): boolean {
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

/** Who may not call is not counted. What a body says, a service reads once the request was counted. */
function isCounted({ method, service }: Route, code: ErrorCode): RouteError['counted'] {
  if (code === 'GUILD_MISMATCH' && method !== 'GET' && service !== 'gateway') {
    return { sometimes: "Where it is the body's `guild_id` that names another guild, the request was counted." };
  }
  return ERRORS[code].http !== 403;
}

/** What an error tells beyond its code and its meaning. */
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

/** A fault that a first attempt at the route is likely to meet. */
function exampleFaults(route: Route): Fault[] {
  if (route.guild === 'header') return [{ path: 'header.X-Guild-ID', message: 'is required' }];
  if (route.guild === 'body') return [{ path: 'body.guild_id', message: 'is required' }];
  const faults = [
    ...faultsOf(route.body, {}, 'body'),
    ...faultsOf(route.params, allWrong(route.params), 'path'),
    ...faultsOf(route.query, allWrong(route.query), 'query'),
    { path: 'query', message: 'has a percent-escape that can not be read' },
  ];
  // Another guild in the path is GUILD_MISMATCH.
  return faults.filter(({ path }) => path !== 'path.guildId').slice(0, 1);
}

const faultsOf = (schema: z.ZodObject | undefined, value: unknown, place: FaultPlace): Fault[] =>
  (schema && validate(schema, value, place).faults) ?? [];

const allWrong = (schema: z.ZodObject | undefined) =>
  Object.fromEntries(Object.keys(schema?.shape ?? {}).map((name) => [name, '-']));

function keyReused(): RouteError {
  const message = 'This Idempotency-Key was used with another body';
  return {
    error: new ApiError('CONFLICT', { message }),
    name: 'CONFLICT_IDEMPOTENCY_KEY',
    meaning: `${message}, or the first request with it is still running`,
    counted: true,
    advice: 'Use a new key for another write. With `Retry-After` the first is still running: wait and repeat.',
  };
}

import type { z } from 'zod';
import type { Category } from './limits.ts';
import type { Scope } from './scopes.ts';

/** The prefix of every path in the route table. */
export const API_PREFIX = '/api/v1';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Where a request names its guild: `path` in `:guildId`, `header` in the required header `X-Guild-ID`, `body` in the
 * required field `guild_id`. With `key` the request names none and the guild is that of the API key.
 */
export type GuildSource = 'path' | 'header' | 'body' | 'key';

/** Error codes that only some routes return. PLATFORM_ERROR: the route calls the chat or game platform. */
export type RouteErrorCode =
  | 'INVALID_TARGET'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'QUOTA_EXCEEDED'
  | 'NOT_APPLICABLE'
  | 'EVENTS_GONE'
  | 'PLATFORM_ERROR';

/** What PLATFORM_ERROR means on most routes that have it. */
export const PLATFORM_FAILED = 'The platform rejected the request or sent an invalid response';

/** One row of the route table: everything that defines a route. Its handler in the service has the same name. */
export interface RouteSpec<
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodObject = z.ZodObject,
  Data extends z.ZodObject = z.ZodObject,
> {
  /**
   * The name of the operation in the OpenAPI document, and so in generated clients; the row's name if left out. Metrics, logs
   * and alerts always use the row's name.
   */
  operationId?: string;
  method: Method;
  /** Relative to API_PREFIX, with parameters as `:name`. */
  path: string;
  /** The scope that the key needs; null if any valid key may call the route. */
  scope: Scope | null;
  /** The rate limit category; null if only the key's own cap applies. */
  category: Category | null;
  guild: GuildSource;
  params?: Params;
  query?: Query;
  body?: Body;
  /** The shape of `data` on success. */
  data: Data;
  /** The HTTP status of success. */
  status: 200 | 201 | 202;
  /** The envelope's `message` on success. */
  message: string;
  /** If set, a write whose work was already done returns 200 with this message instead of `status` and `message`. */
  repeatedMessage?: string;
  summary: string;
  description?: string;
  /** True if the route changes data. Such a route accepts an Idempotency-Key. */
  writes: boolean;
  /** Error codes that not every route returns, with what they mean on this route. */
  errors?: Partial<Record<RouteErrorCode, string>>;
  /** `details` of QUOTA_EXCEEDED: the name of the quota and its default limit. */
  quota?: { quota: string; limit: number };
  /**
   * Set if a request may wait for its response, for the number of seconds in the query parameter `wait`. `whenEnded` is
   * the `data` of the response if the gateway stops during the wait; if left out, the response is then 503 UNAVAILABLE.
   */
  longPoll?: { whenEnded?: z.input<Data> };
  /**
   * Set if the response to a GET is a stream of server-sent events instead of the JSON envelope; `data` is then empty.
   * `event` is the shape of each event.
   */
  eventStream?: { event: z.ZodType };
  /** Set if the route will be removed: dates as YYYY-MM-DD, and the path that replaces it. */
  deprecated?: { since: string; sunset: string; replacement: string };
}

/** A row with the service that serves it and the route name that metrics and logs use. */
export type Route<Spec extends RouteSpec = RouteSpec> = Spec & { service: string; name: string };

/** Checks a row against RouteSpec while keeping the exact types of its schemas. */
export function route<
  Data extends z.ZodObject,
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodObject = z.ZodObject,
>(spec: RouteSpec<Params, Query, Body, Data>): RouteSpec<Params, Query, Body, Data> {
  return spec;
}

/** Defines the routes of one service. */
export function defineRoutes<Specs extends Record<string, RouteSpec>>(
  service: string,
  specs: Specs,
): { [Name in keyof Specs]: Route<Specs[Name]> } {
  const rows = Object.entries(specs).map(([name, spec]) => [name, { ...spec, service, name }]);
  return Object.fromEntries(rows);
}

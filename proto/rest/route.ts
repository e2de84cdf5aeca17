import type { z } from 'zod';
import type { Category } from './limits.ts';
import type { Scope } from './scopes.ts';

/** Every path of the table is below this. */
export const API_PREFIX = '/api/v1';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/**
 * How a request names its guild:
 * `path` by `:guildId`; `header` by `X-Guild-ID`, required; `body` by `guild_id`, required; `key` by the key alone.
 */
export type GuildSource = 'path' | 'header' | 'body' | 'key';

/** Codes that only some routes can answer; PLATFORM_ERROR where the chat or game platform is asked. */
export type RouteErrorCode =
  | 'INVALID_TARGET'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'QUOTA_EXCEEDED'
  | 'NOT_APPLICABLE'
  | 'PLATFORM_ERROR';

/** One row of the route table. All that is known of a route is here; its handler has the same name in its service. */
export interface RouteSpec<
  Params extends z.ZodObject = z.ZodObject,
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodObject = z.ZodObject,
  Data extends z.ZodObject = z.ZodObject,
> {
  method: Method;
  /** Below API_PREFIX; parameters as `:name`. */
  path: string;
  /** null: any valid key. */
  scope: Scope | null;
  /** null: only a key's own cap counts. */
  category: Category | null;
  guild: GuildSource;
  params?: Params;
  query?: Query;
  body?: Body;
  /** The shape of `data` on success. */
  data: Data;
  /** The status of success. */
  status: 200 | 201 | 202;
  /** The envelope's `message` on success. */
  message: string;
  /** The `message` of a 200 in place of `status`, where a repeated write found its work done. */
  repeatedMessage?: string;
  summary: string;
  description?: string;
  /** Whether it changes something and so accepts an Idempotency-Key. */
  writes: boolean;
  /** Codes beyond those that every route can answer, with what they mean here. */
  errors?: Partial<Record<RouteErrorCode, string>>;
  /** What `details` of QUOTA_EXCEEDED has here: the quota's name, and how much it allows unless configured otherwise. */
  quota?: { quota: string; limit: number };
  /**
   * Set where the answer may be waited for, as many seconds as `wait` in the query says: the `data` that callers get
   * when a gateway that stops ends their wait.
   */
  longPoll?: { whenEnded: z.input<Data> };
  /** Set when the route is to go away: dates as YYYY-MM-DD, and the path to use instead. */
  deprecated?: { since: string; sunset: string; replacement: string };
}

/** A row together with the service that answers it and its name, which metrics and logs carry. */
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

/** A service's part of the route table. */
export function defineRoutes<Specs extends Record<string, RouteSpec>>(
  service: string,
  specs: Specs,
): { [Name in keyof Specs]: Route<Specs[Name]> } {
  const rows = Object.entries(specs).map(([name, spec]) => [name, { ...spec, service, name }]);
  return Object.fromEntries(rows);
}

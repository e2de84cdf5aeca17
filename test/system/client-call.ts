import { isDeepStrictEqual } from 'node:util';
import { GuildData } from '#clients/typescript/src/guild-data.ts';
import { ApiError, type CallOptions, GuildDataError, type ResponseInfo } from '#clients/typescript/src/index.ts';
import { operationIdOf } from '#gateway/openapi/operation-id.ts';
import { ROUTES } from '#proto/rest/index.ts';
import type { Route } from '#proto/rest/route.ts';

/** A call that the TypeScript client can make. */
export interface ClientCall {
  operation: string;
  key: string;
  guildId: string;
  args: Record<string, unknown>;
  headers: Record<string, string>;
}

interface PlainCall {
  path: string;
  method: string;
  key: string | undefined;
  headers: Record<string, string>;
  body: unknown;
}

type Values = Record<string, string>;

/** Headers that the client sets itself, so that a test with another value of them needs plain requests. */
const OWN_HEADERS = [
  'authorization',
  'content-type',
  'content-encoding',
  'content-length',
  'x-api-key',
  'host',
  'expect',
];

/** Reads a request as a call of the client; undefined if it is malformed, because a program with types cannot make it. */
export function asClientCall({ path, method, key, headers: given, body }: PlainCall): ClientCall | undefined {
  const headers = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]));
  if (key === undefined || !/^[\x21-\x7e]+$/.test(key) || OWN_HEADERS.some((name) => name in headers)) return undefined;
  const url = new URL(path, 'http://gateway');
  // Another spelling of a path is a request of its own.
  if (path.split('?')[0] !== url.pathname) return undefined;
  for (const route of ROUTES.filter((route) => route.method === method && !route.eventStream)) {
    const params = paramsOf(route, url.pathname);
    const query = queryOf(url);
    if (!params || !query || !isWellFormed(route, { params, query, body })) continue;
    const { 'x-guild-id': header, ...others } = headers;
    const fields = (body ?? {}) as Record<string, unknown>;
    const isOwn = route.guild === 'header' || route.guild === 'key';
    const guildId = guildOf(route, { params, header, fields, key });
    if (guildId === undefined) return undefined;
    return {
      operation: operationIdOf(route),
      key,
      guildId,
      args: { ...params, ...query, ...fields },
      headers: isOwn || header === undefined ? others : headers,
    };
  }
  return undefined;
}

function paramsOf({ path }: Route, pathname: string): Values | undefined {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => String(name));
  const match = new RegExp(`^${path.replaceAll(/:\w+/g, '([^/]+)')}$`).exec(pathname);
  const values = match?.slice(1).map((text) => decodeURIComponent(text));
  const isSame = values?.every((value, index) => encodeURIComponent(value) === match?.[index + 1]);
  return values && isSame ? Object.fromEntries(names.map((name, index) => [name, values[index] ?? ''])) : undefined;
}

function queryOf({ searchParams }: URL): Values | undefined {
  const names = [...searchParams.keys()];
  return new Set(names).size === names.length ? Object.fromEntries(searchParams) : undefined;
}

function isWellFormed(
  route: Route,
  { params, query, body }: { params: Values; query: Values; body: unknown },
): boolean {
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body) && !Buffer.isBuffer(body);
  const hasRightBody = route.body ? isObject && route.body.safeParse(body).success : body === undefined;
  const names = Object.keys(route.query?.shape ?? {});
  return (
    hasRightBody &&
    Object.keys(query).every((name) => names.includes(name)) &&
    (route.params?.safeParse(params).success ?? true) &&
    (route.query?.safeParse(query).success ?? true)
  );
}

interface GuildPlaces {
  params: Values;
  header: string | undefined;
  fields: Record<string, unknown>;
  key: string;
}

/** The guild that a request names; for routes that need none, that of the key. */
function guildOf({ guild }: Route, { params, header, fields, key }: GuildPlaces): string | undefined {
  const named = { path: params['guildId'], header, body: fields['guild_id'], key: header ?? /_(\d+)_/.exec(key)?.[1] };
  const guildId = named[guild];
  return typeof guildId === 'string' && /^\d+$/.test(guildId) ? guildId : undefined;
}

/** Makes a call with the TypeScript client, once, and checks that its result says the same as the response. */
export async function callWithClient(baseUrl: string, call: ClientCall, signal?: AbortSignal): Promise<ResponseInfo> {
  const { operation, key, guildId, args, headers } = call;
  let response: ResponseInfo | undefined;
  const guild = new GuildData({
    key,
    guildId,
    baseUrl,
    maxAttempts: 1,
    timeoutMs: 300_000,
    totalTimeoutMs: 300_000,
    onResponse: (received) => (response = received),
  });
  const { 'idempotency-key': idempotencyKey, ...others } = headers;
  // The arguments have been checked with the schemas of the route, from which the types of the methods are made.
  const method = guild[operation as 'whoami'] as (...args: unknown[]) => Promise<unknown>;
  const options: CallOptions = { headers: others, idempotencyKey, signal };
  const given = method.length > 1 ? [args, options] : [options];
  const result = await method.apply(guild, given).catch((error: unknown) => error);
  if (!response) throw result;
  expectSameAs(response, result);
  return response;
}

function expectSameAs({ operation, status, body }: ResponseInfo, result: unknown): void {
  const { data, details } = body as { data?: unknown; details?: unknown };
  const isSame =
    status < 300
      ? isDeepStrictEqual(result, data)
      : result instanceof ApiError && isDeepStrictEqual(result.details, details);
  if (isSame) return;
  const said = result instanceof GuildDataError ? String(result) : JSON.stringify(result);
  throw new Error(`${operation} made of ${status} ${JSON.stringify(body)}: ${said}`);
}

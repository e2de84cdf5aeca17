import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Route, RouteSpec } from '#proto/rest/route.ts';
import { oneHeader } from '../downstream/headers.ts';
import { ApiError, type Fault, invalidRequest } from '../errors.ts';
import type { IdempotentWrite } from '../postgres/idempotency/idempotency.ts';
import { holdsApiKey } from '../security/api-key.ts';
import type { Principal } from '../security/principal.ts';
import { hashJson, readBody } from './body.ts';
import { isCursorShaped, NO_CURSOR } from './cursor.ts';
import { guildFaults } from './guild.ts';
import type { Match } from './match.ts';
import { splitTarget } from './target.ts';
import { type FaultPlace, readQuery, validate } from './validate.ts';

/** The type of a validated part of an HTTP request. A handler reads only parts for which its route has a schema. */
type Part<Schema extends z.ZodType | undefined> = z.output<NonNullable<Schema>>;

/** An HTTP request whose parts have all been validated against the schemas of its route. */
export interface HandlerRequest<Spec extends RouteSpec> {
  principal: Principal;
  guildId: string;
  params: Part<Spec['params']>;
  query: Part<Spec['query']>;
  body: Part<Spec['body']>;
  /** The names of unknown fields in the body: at most 20 names, each truncated to 64 characters. */
  ignoredFields: readonly string[];
  /** Identifies a repeated write by its Idempotency-Key; used on routes that write. */
  write: IdempotentWrite;
  /** The event after which a stream of events continues; used on routes with such a stream. */
  lastEventId: number | undefined;
  /** The signal that is aborted if the client disconnects before the response is sent. */
  signal: AbortSignal;
}

/**
 * Validates an HTTP request: first its guild (GUILD_MISMATCH), then all other parts. Throws INVALID_REQUEST that lists
 * all validation errors.
 */
export async function readRequest(
  { route, params }: Match,
  request: IncomingMessage,
  response: ServerResponse,
  principal: Principal,
): Promise<HandlerRequest<RouteSpec>> {
  const { given, faults } = await readGiven(route, request);
  faults.push(...guildFaults(given, principal));
  const { path, query: queryText } = splitTarget(request.url ?? '');
  const query = readQuery(queryText);
  faults.push(...query.faults);
  const check = (schema: z.ZodType | undefined, value: unknown, place: FaultPlace) => {
    if (!schema) return {};
    const result = validate(schema, value, place);
    faults.push(...(result.faults ?? []));
    return (result.value ?? {}) as Record<string, never>;
  };
  const parts = {
    params: check(route.params, params, 'path'),
    query: check(route.query, query.value, 'query'),
    body: given ? check(route.body, given, 'body') : {},
  };
  faults.push(...cursorFaults(route.query, query.value['cursor']));
  const key = route.writes ? idempotencyKey(request, principal, faults) : undefined;
  const lastEventId = route.eventStream ? readLastEventId(request, faults) : undefined;
  if (faults.length > 0) throw invalidRequest(oncePerPath(faults));
  const { guildId } = principal;
  const { method = '' } = request;
  const bodyHash = key === undefined ? NO_HASH : hashJson(given);
  const write = { guildId, method, path, key, bodyHash, status: route.status, message: route.message };
  const ignoredFields = unknownFields(route.body, given ?? {});
  return { principal, guildId, ...parts, ignoredFields, write, lastEventId, signal: disconnectSignal(response) };
}

const MAX_IGNORED_FIELDS = 20;
const MAX_FIELD_NAME_LENGTH = 64;

function unknownFields(schema: z.ZodType | undefined, given: Record<string, unknown>): string[] {
  const known = schema instanceof z.ZodObject ? schema.shape : {};
  return Object.keys(given)
    .filter((name) => name !== 'guild_id' && !Object.hasOwn(known, name))
    .slice(0, MAX_IGNORED_FIELDS)
    .map((name) => name.slice(0, MAX_FIELD_NAME_LENGTH));
}

/**
 * Returns a validation error if the query parameter `cursor` is malformed. The handler checks later that the cursor
 * belongs to the requested list.
 */
function cursorFaults(schema: z.ZodType | undefined, cursor: unknown): Fault[] {
  if (!(schema instanceof z.ZodObject) || !('cursor' in schema.shape) || typeof cursor !== 'string') return [];
  return isCursorShaped(cursor) ? [] : [{ path: 'query.cursor', message: NO_CURSOR }];
}

function disconnectSignal(response: ServerResponse): AbortSignal {
  const disconnected = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) disconnected.abort();
  });
  return disconnected.signal;
}

const NO_HASH = Buffer.alloc(0);

/**
 * Reads the JSON body, also on routes without body fields, because the body may name a guild. An unreadable body is
 * returned as validation errors.
 */
async function readGiven(
  route: Route,
  request: IncomingMessage,
): Promise<{ given?: Record<string, unknown>; faults: Fault[] }> {
  if (route.method === 'GET') return { given: {}, faults: [] };
  try {
    return { given: await readBody(request), faults: [] };
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'INVALID_REQUEST') throw error;
    return { faults: error.details.errors as Fault[] };
  }
}

function idempotencyKey(request: IncomingMessage, { guildId }: Principal, faults: Fault[]): string | undefined {
  const key = oneHeader(request, 'idempotency-key');
  // The Idempotency-Key is decoded as UTF-8 to count its characters: Node gives one Latin-1 character for each byte.
  const length = key === undefined ? 1 : Array.from(Buffer.from(key, 'latin1').toString()).length;
  if (length < 1 || length > 128) {
    faults.push({ path: 'header.Idempotency-Key', message: 'must have 1 to 128 characters' });
  }
  // The Idempotency-Key is stored unencrypted, so it must not contain an API key, which may never be stored.
  if (key !== undefined && holdsApiKey(key, guildId)) {
    faults.push({ path: 'header.Idempotency-Key', message: 'must not contain an API key' });
  }
  return key;
}

/** Returns the number in Last-Event-ID, which clients send when they connect again; undefined if it is missing. */
function readLastEventId(request: IncomingMessage, faults: Fault[]): number | undefined {
  const text = oneHeader(request, 'last-event-id') ?? '';
  if (text === '') return undefined;
  if (/^[0-9]{1,16}$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  faults.push({ path: 'header.Last-Event-ID', message: 'must be the id of an event' });
  return undefined;
}

/** Returns only the first validation error of each path. */
function oncePerPath(faults: Fault[]): Fault[] {
  const first = new Map<string, Fault>();
  for (const fault of faults) if (!first.has(fault.path)) first.set(fault.path, fault);
  return [...first.values()];
}

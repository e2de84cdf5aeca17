import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { REQUEST_ID_HEADER } from '../http/request-id.ts';
import { PRINCIPAL_HEADER } from '../security/principal.ts';
import { TRACEPARENT_HEADER, TRACESTATE_HEADER } from '../telemetry/tracing/trace-context.ts';

/**
 * Headers that apply to one connection only and are not forwarded. Transfer-Encoding is not listed, because the gateway
 * needs it to read the body.
 */
export const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'proxy-authenticate',
  'proxy-authorization',
]);

/**
 * The request headers that are forwarded to services: those that services read, and those that frame the body. All
 * others are dropped, such as the API key, and headers that a framework might obey (`X-Original-URL`,
 * `X-HTTP-Method-Override`). `Host` is set to that of the service.
 */
export const FORWARDED_HEADERS: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-length',
  'content-type',
  'idempotency-key',
  'last-event-id',
  'transfer-encoding',
  'x-guild-id',
  PRINCIPAL_HEADER,
  REQUEST_ID_HEADER,
  TRACEPARENT_HEADER,
  TRACESTATE_HEADER,
]);

/** The maximum number of headers of a request, and of options in its Connection header. More get 431. */
export const MAX_HEADERS = 100;
export const MAX_CONNECTION_HEADER_OPTIONS = 20;

/**
 * Headers that may occur only once in a request. Of duplicates Node silently uses the first, other servers may use the
 * second.
 */
export const SINGLE_VALUE_HEADERS: ReadonlySet<string> = new Set([
  'age',
  'authorization',
  'content-length',
  'content-type',
  'etag',
  'expires',
  'from',
  'host',
  'if-modified-since',
  'if-unmodified-since',
  'last-modified',
  'location',
  'max-forwards',
  'proxy-authorization',
  'referer',
  'retry-after',
  'server',
  'user-agent',
]);

/**
 * Removes spaces and tabs around a header value. trim() would also remove the byte A0, which may be part of a UTF-8
 * character.
 */
export function trimSpacesAndTabs(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (start < end && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

const NO_OPTIONS: ReadonlySet<string> = new Set();

/** Returns the options of the Connection header, in lower case. */
export function connectionOptions({ connection }: IncomingHttpHeaders): ReadonlySet<string> {
  if (connection === undefined) return NO_OPTIONS;
  const options = new Set<string>();
  for (const option of connection.toLowerCase().split(',')) options.add(option.trim());
  options.delete('');
  return options;
}

/**
 * True if the client connection is closed after the response: if the client requests it, and after an `Upgrade` header.
 * The gateway ignores `Upgrade`, but Node's parser drops the bytes that follow such a request in the same packet.
 */
export function closesAfterResponse(headers: IncomingHttpHeaders): boolean {
  const options = connectionOptions(headers);
  return options.has('close') || (options.has('upgrade') && headers.upgrade !== undefined);
}

/** True if the Connection header has too many options. Every comma counts, so empty and repeated options count too. */
export function hasTooManyConnectionOptions({ connection = '' }: IncomingHttpHeaders): boolean {
  let count = 1;
  for (let comma = connection.indexOf(','); comma >= 0; comma = connection.indexOf(',', comma + 1)) {
    count++;
    if (count > MAX_CONNECTION_HEADER_OPTIONS) return true;
  }
  return false;
}

/**
 * Removes request headers that a client could forge, or that apply to its connection only. Called before any header is
 * read.
 */
export function stripReserved(request: IncomingMessage): void {
  const { headers } = request;
  const named = connectionOptions(headers);
  const isKept = (name: string) => isOrdinary(name) && !named.has(name);
  // Most requests have no header to remove, and so need no copy of their headers.
  for (const name in headers) if (!isKept(name)) return keepOnly(request, isKept);
}

/** True if a request header is not reserved for the gateway, not hop-by-hop, and has no underscore. */
export function isOrdinary(name: string): boolean {
  // Header names with an underscore are dropped, because some servers treat an underscore as a dash.
  return !HOP_BY_HOP.has(name) && !isReserved(name) && !name.includes('_');
}

/** Removes all request headers that services do not need. Called immediately before a request is forwarded. */
export function keepForwarded(request: IncomingMessage): void {
  keepOnly(request, (name) => FORWARDED_HEADERS.has(name));
}

/** Copies the headers to keep into a new object, because V8 handles objects with deleted properties slowly. */
function keepOnly(request: IncomingMessage, isKept: (name: string) => boolean): void {
  const { headers } = request;
  const kept: IncomingHttpHeaders = {};
  for (const name in headers) if (isKept(name)) kept[name] = headers[name];
  request.headers = kept;
}

function isReserved(name: string): boolean {
  // Services trust the sampling decision in these headers, which only our own processes may make.
  if (!name.startsWith('x-')) return name === TRACEPARENT_HEADER || name === TRACESTATE_HEADER;
  return name.startsWith('x-internal-') || (name.startsWith('x-guild-') && name !== 'x-guild-id');
}

/** Returns the value of a request header; values of a header that was sent several times are joined with commas. */
export function oneHeader(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}

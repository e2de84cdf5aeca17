import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { REQUEST_ID_HEADER } from '#kit/http/request-id.ts';
import type { HeaderList } from '#kit/http/response-headers.ts';
import { PRINCIPAL_HEADER } from '#kit/security/principal.ts';

/** Meant for one connection, not for whoever is behind it. Transfer-Encoding frames the body and is not among them. */
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
 * The request headers that services receive: what they read, and what frames the body. All others stay here, such as
 * the key, and names that some server or framework may obey (`X-Original-URL`, `X-HTTP-Method-Override`). `Host` is the
 * service's own.
 */
export const FORWARDED_HEADERS: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-length',
  'content-type',
  'idempotency-key',
  'transfer-encoding',
  'x-guild-id',
  PRINCIPAL_HEADER,
  REQUEST_ID_HEADER,
]);

/** A request with more headers, or with more options in `Connection`, is rejected with 431. */
export const MAX_HEADERS = 100;
export const MAX_CONNECTION_OPTIONS = 20;

/** Headers that have one value: of two, Node keeps the first without a word, and another server the second. */
export const SINGLE: ReadonlySet<string> = new Set([
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

/** Without blanks and tabs around it, as values and what they list are read; trim() takes a byte of UTF-8 too. */
export function withoutBlanks(text: string): string {
  let [start, end] = [0, text.length];
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (start < end && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

const NO_OPTIONS: ReadonlySet<string> = new Set();

/** What `Connection` names, in lower case. */
export function connectionOptions({ connection }: IncomingHttpHeaders): ReadonlySet<string> {
  if (connection === undefined) return NO_OPTIONS;
  const options = new Set<string>();
  for (const option of connection.toLowerCase().split(',')) options.add(option.trim());
  options.delete('');
  return options;
}

/**
 * Whether the connection is closed after the response: where the caller wants that, and behind an `Upgrade`. That is
 * ignored, but Node's parser drops what follows such a request in the same packet.
 */
export function isLast(headers: IncomingHttpHeaders): boolean {
  const options = connectionOptions(headers);
  return options.has('close') || (options.has('upgrade') && headers.upgrade !== undefined);
}

/** Whether `Connection` lists more than it may, counted without reading on; empty ones and repeated ones count too. */
export function hasTooManyOptions({ connection = '' }: IncomingHttpHeaders): boolean {
  let count = 1;
  for (let comma = connection.indexOf(','); comma >= 0; comma = connection.indexOf(',', comma + 1)) {
    count++;
    if (count > MAX_CONNECTION_OPTIONS) return true;
  }
  return false;
}

/** Takes away all that a caller could forge or that is not meant for a service; called before anything is read. */
export function stripReserved(request: IncomingMessage): void {
  const { headers } = request;
  const named = connectionOptions(headers);
  const isKept = (name: string) => isOrdinary(name) && !named.has(name);
  // Behind a proxy most requests have none of them.
  for (const name in headers) if (!isKept(name)) return keepOnly(request, isKept);
}

const ordinary = new Map<string, boolean>();
const MOST_NAMES = 1_000;
const LONGEST_NAME = 64;

/** Whether there is nothing to judge in a header's name; found once for each, since callers use few. */
export function isOrdinary(name: string): boolean {
  const known = ordinary.get(name);
  if (known !== undefined) return known;
  // Some servers read an underscore as a dash.
  const found = !HOP_BY_HOP.has(name) && !isReserved(name) && !name.includes('_');
  if (ordinary.size >= MOST_NAMES) ordinary.clear();
  if (name.length <= LONGEST_NAME) ordinary.set(name, found);
  return found;
}

/** Keeps the headers that services receive; called right before a request is forwarded. */
export function keepForwarded(request: IncomingMessage): void {
  keepOnly(request, (name) => FORWARDED_HEADERS.has(name));
}

/** Of a service's answer, what is not its connection's own. */
export function passedHeaders(headers: IncomingHttpHeaders): HeaderList {
  const passed: HeaderList = [];
  for (const name in headers) {
    if (!HOP_BY_HOP.has(name) && name !== 'transfer-encoding') passed.push(name, headers[name] as string | string[]);
  }
  return passed;
}

/** A new object: one that properties are deleted from is slow ever after. */
function keepOnly(request: IncomingMessage, isKept: (name: string) => boolean): void {
  const { headers } = request;
  const kept: IncomingHttpHeaders = {};
  for (const name in headers) if (isKept(name)) kept[name] = headers[name];
  request.headers = kept;
}

function isReserved(name: string): boolean {
  if (!name.startsWith('x-')) return false;
  return name.startsWith('x-internal-') || (name.startsWith('x-guild-') && name !== 'x-guild-id');
}

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ApiError, type Fault, invalidRequest, type Rejection } from '../errors.ts';
import { BODY_LIMIT, hasBody } from '../http/body.ts';
import { splitTarget } from '../http/target.ts';
import { checkExpectHeader } from './expectation.ts';
import {
  connectionOptions,
  hasTooManyConnectionOptions,
  isOrdinary,
  MAX_CONNECTION_HEADER_OPTIONS,
  MAX_HEADERS,
  SINGLE_VALUE_HEADERS,
} from './headers.ts';

const VERSIONS = ['1.0', '1.1'];
const BODILESS = ['GET', 'HEAD', 'OPTIONS'];
const FRAMING = ['transfer-encoding', 'content-length', 'host', 'expect'];
/** Matches a Host header: a host name or an IP address, with or without a port. */
const HOST = /^[A-Za-z0-9._~!$&'()*+,;=%:[\]-]+$/;
const VISIBLE_ASCII = /^[\x21-\x7e]+$/;
/** Matches nearly all request targets (path and query). A target of this form needs no further check. */
export const PLAIN_TARGET = /^\/[\w/:@~-]*(?:\?[\w/:@~=&,.-]*)?$/;
const HIDDEN_PATH = /%(?:2e|2f|5c|00)|\\|#/i;
const DOT_SEGMENT = /(?:^|\/)\.{1,2}(?:\/|$)/;

const TOO_LARGE = new ApiError('PAYLOAD_TOO_LARGE');
const TOO_MANY_HEADERS = new ApiError('HEADERS_TOO_LARGE', {
  message: `A request has at most ${MAX_HEADERS} headers`,
});
const TOO_MANY_OPTIONS = new ApiError('HEADERS_TOO_LARGE', {
  message: `Connection has at most ${MAX_CONNECTION_HEADER_OPTIONS} options`,
});

/**
 * Rejects requests that a service could read differently than this gateway, and requests whose declared body is too
 * large. Node's parser has already rejected others: Content-Length together with Transfer-Encoding, two different
 * lengths, folded headers, bare line feeds.
 */
export function guard(request: IncomingMessage): Rejection {
  const { headers, rawHeaders, url = '' } = request;
  // The number and size of headers are checked first, because they limit what the other checks have to read.
  if (rawHeaders.length > 2 * MAX_HEADERS) return TOO_MANY_HEADERS;
  if (hasTooManyConnectionOptions(headers)) return TOO_MANY_OPTIONS;
  const faults = nameFaults(request);
  for (const fault of [targetFault(url), hostFault(headers), connectionFault(headers), framingFault(request)]) {
    if (fault) faults.push(fault);
  }
  if (faults.length > 0) return invalidRequest(faults);
  const isTooLarge = Number(request.headers['content-length'] ?? 0) > BODY_LIMIT;
  return checkExpectHeader(request) ?? (isTooLarge ? TOO_LARGE : undefined);
}

/**
 * True if the client connection must be closed after this error of `guard`, because it is unclear where the request
 * ends.
 */
export function closesConnection({ code }: ApiError): boolean {
  return code === 'INVALID_REQUEST' || code === 'HEADERS_TOO_LARGE';
}

/** Returns the reason to reject a request target (path and query), or undefined if the target is valid. */
export function targetFault(target: string): Fault | undefined {
  if (PLAIN_TARGET.test(target)) return undefined;
  const { path, query } = splitTarget(target);
  if (!path.startsWith('/')) return { path: 'path', message: 'must begin with a slash' };
  if (!VISIBLE_ASCII.test(target)) return { path: 'path', message: 'must be percent-encoded ASCII' };
  if (HIDDEN_PATH.test(path)) {
    return { path: 'path', message: 'must not hold encoded dots, slashes, backslashes or zero bytes' };
  }
  if (DOT_SEGMENT.test(path)) return { path: 'path', message: 'must not hold dot segments' };
  if (!isDecodable(path)) return { path: 'path', message: 'has a percent-escape that cannot be read' };
  if (!isDecodable(query)) return { path: 'query', message: 'has a percent-escape that cannot be read' };
  return undefined;
}

function hostFault({ host }: IncomingHttpHeaders): Fault | undefined {
  if (host === undefined) return { path: 'header.Host', message: 'must be given exactly once' };
  return HOST.test(host) ? undefined : { path: 'header.Host', message: 'must be a host' };
}

function connectionFault(headers: IncomingHttpHeaders): Fault | undefined {
  const options = connectionOptions(headers);
  if (!FRAMING.some((name) => options.has(name))) return undefined;
  return { path: 'header.Connection', message: 'must not name headers that frame the request' };
}

/**
 * The maximum number of header names that an error lists, because a client could otherwise cause very long responses.
 */
const MAX_LISTED_NAMES = 20;

function nameFaults({ headers, rawHeaders }: IncomingMessage): Fault[] {
  // `headers` has each header name once. If it has as many names as were sent, no header was sent twice or left out by
  // Node.
  const names = Object.keys(headers);
  if (names.length * 2 === rawHeaders.length && !names.some(hasUnderscore)) return [];
  const faults = new Map<string, Fault>();
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length && faults.size < MAX_LISTED_NAMES; index += 2) {
    const given = rawHeaders[index] as string;
    const name = given.toLowerCase();
    const path = `header.${given}`;
    if (name.includes('_')) faults.set(name, { path, message: 'must not have an underscore in its name' });
    else if (seen.has(name) && SINGLE_VALUE_HEADERS.has(name))
      faults.set(name, { path, message: 'must be given only once' });
    seen.add(name);
  }
  return [...faults.values()];
}

function hasUnderscore(name: string): boolean {
  return !isOrdinary(name) && name.includes('_');
}

function framingFault(request: IncomingMessage): Fault | undefined {
  if (!VERSIONS.includes(request.httpVersion)) return { path: 'request', message: 'must be HTTP/1.1 or HTTP/1.0' };
  const encoding = request.headers['transfer-encoding'];
  if (encoding !== undefined && (encoding !== 'chunked' || request.httpVersion === '1.0')) {
    return { path: 'header.Transfer-Encoding', message: 'must be chunked, and HTTP/1.1' };
  }
  if (hasBody(request) && BODILESS.includes(request.method ?? '')) {
    return { path: 'body', message: `must not come with ${request.method}` };
  }
  return undefined;
}

function isDecodable(text: string): boolean {
  if (!text.includes('%')) return true;
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

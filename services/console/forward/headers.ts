import type { IncomingMessage } from 'node:http';
import { oneHeader } from '#kit/downstream/headers.ts';
import type { HeaderList } from '#kit/http/response-headers.ts';

/**
 * The request headers that are forwarded to services: those that they read. All others are dropped, such as cookies. The
 * console sets Host and Content-Length itself.
 */
const REQUEST_HEADERS = ['content-encoding', 'content-type', 'idempotency-key', 'x-guild-id'];

/** The response headers of services that are sent to the browser. */
const RESPONSE_HEADERS = [
  'content-type',
  'content-length',
  'cache-control',
  'x-content-type-options',
  'retry-after',
  'allow',
  'idempotency-replayed',
  'deprecation',
  'sunset',
  'link',
];

/** Returns the headers of a request that its service may read. */
export function forwardedHeaders(request: IncomingMessage): Record<string, string> {
  const found = REQUEST_HEADERS.map((name) => [name, oneHeader(request, name)] as const);
  return Object.fromEntries(found.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

/** Returns the headers of a service's response that the browser gets. */
export function returnedHeaders(response: IncomingMessage): HeaderList {
  return RESPONSE_HEADERS.flatMap((name) => {
    const value = response.headers[name];
    return typeof value === 'string' ? [name, value] : [];
  });
}

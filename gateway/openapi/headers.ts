import { componentRef, type Header, type OpenApiDocument, type Ref } from './document.ts';

/** The response headers that the OpenAPI document describes. `X-Request-Id`, which every response has, is in its rules. */
export const HEADERS = {
  'X-RateLimit-Limit': {
    description:
      'Requests per window, of the limit that has the fewest requests left. Present if the request was counted. On a 401 it is the limit of rejected keys for your address',
    schema: { type: 'integer', minimum: 1 },
  },
  'X-RateLimit-Remaining': {
    description: 'Remaining requests in the window',
    schema: { type: 'integer', minimum: 0 },
  },
  'X-RateLimit-Reset': {
    description: 'End of the window in Unix seconds',
    schema: { type: 'integer', minimum: 0 },
  },
  'Retry-After': {
    description: 'Seconds to wait before the next retry',
    schema: { type: 'integer', minimum: 0 },
  },
  'Idempotency-Replayed': {
    description: '`true` if the response to an earlier request with the same `Idempotency-Key` was returned again',
    schema: { type: 'string', const: 'true' },
  },
  Deprecation: {
    description: 'Time since which the route is deprecated',
    schema: { type: 'string' },
  },
  Sunset: {
    description: 'Time from which the route may be removed',
    schema: { type: 'string' },
  },
  Link: {
    description: 'The route to use instead',
    schema: { type: 'string' },
  },
} satisfies Record<string, Header>;

export type HeaderName = keyof typeof HEADERS;

export const RATE_LIMIT_HEADERS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
] as const satisfies HeaderName[];

/** Returns references to the headers in the components of the OpenAPI document. */
export function headerRefs(names: readonly HeaderName[]): Record<string, Ref> {
  return Object.fromEntries(names.map((name) => [name, componentRef('headers', name)]));
}

/** Returns the headers that a document refers to. */
export function usedHeaders(document: OpenApiDocument): Record<string, Header> {
  const text = JSON.stringify(document);
  const isUsed = (name: string) => text.includes(`"${componentRef('headers', name).$ref}"`);
  return Object.fromEntries(Object.entries(HEADERS).filter(([name]) => isUsed(name)));
}

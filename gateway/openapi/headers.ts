import { componentRef, type Header, type Ref } from './document.ts';

/** Every header of an answer that a caller may care about. */
export const HEADERS = {
  'X-Request-Id': {
    description: 'Names the request in our logs: your own, or a new one',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,128}$' },
  },
  'X-RateLimit-Limit': {
    description:
      'Requests a window, of whichever limit has least left; on every response to a request that was counted. On a 401 the limit is that on rejected keys of your address',
    schema: { type: 'integer', minimum: 1 },
  },
  'X-RateLimit-Remaining': {
    description: 'Requests left in the window',
    schema: { type: 'integer', minimum: 0 },
  },
  'X-RateLimit-Reset': {
    description: 'When the window ends, in Unix seconds',
    schema: { type: 'integer', minimum: 0 },
  },
  'Retry-After': {
    description: 'Seconds to wait before the next attempt',
    schema: { type: 'integer', minimum: 0 },
  },
  'Idempotency-Replayed': {
    description: '`true` on the first answer given again',
    schema: { type: 'string', const: 'true' },
  },
  Deprecation: {
    description: 'Since when the route is deprecated',
    schema: { type: 'string' },
  },
  Sunset: {
    description: 'When the route goes away',
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

/** References to these headers, which are among the document's components. */
export function headerRefs(names: readonly HeaderName[]): Record<string, Ref> {
  return Object.fromEntries(names.map((name) => [name, componentRef('headers', name)]));
}

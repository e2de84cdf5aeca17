import { randomUUID } from 'node:crypto';

export const REQUEST_ID_HEADER = 'x-request-id';

// A request ID has no characters that JSON would escape, because the gateway writes request IDs into log lines
// unescaped.
const ALLOWED = /^[A-Za-z0-9._-]{1,128}$/;

export function newRequestId(): string {
  return randomUUID();
}

/** Returns the request ID that the client sent if it is well formed, otherwise a new request ID. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && ALLOWED.test(given) ? given : newRequestId();
}

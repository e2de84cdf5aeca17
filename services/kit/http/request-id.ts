import { randomUUID } from 'node:crypto';

export const REQUEST_ID_HEADER = 'x-request-id';

// Excludes all characters that JSON would escape, because the gateway writes the ID into log lines unescaped.
const ALLOWED = /^[A-Za-z0-9._-]{1,128}$/;

export function newRequestId(): string {
  return randomUUID();
}

/** The client's request ID if it is well formed, otherwise a new one. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && ALLOWED.test(given) ? given : newRequestId();
}

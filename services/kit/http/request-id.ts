import { randomUUID } from 'node:crypto';

export const REQUEST_ID_HEADER = 'x-request-id';
/** For what a gRPC call is made; see Purpose. Absent where somebody waits for the response. */
export const PURPOSE_HEADER = 'x-purpose';

// Nothing that JSON would escape: the gateway writes it into lines as it is.
const ALLOWED = /^[A-Za-z0-9._-]{1,128}$/;

export function newRequestId(): string {
  return randomUUID();
}

/** The caller's own request ID where it is well formed, else a new one. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && ALLOWED.test(given) ? given : newRequestId();
}

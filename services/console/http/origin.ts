import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { invalidRequest, type Rejection } from '#kit/errors.ts';
import { CSRF_HEADER } from '#proto/console/api.ts';

const NO_CSRF_TOKEN = 'must be the csrf_token that GET /console/session returns';
const SAFE_METHODS = ['GET', 'HEAD'];

/** True if a request with this method may change something. */
export const writes = ({ method = '' }: IncomingMessage) => !SAFE_METHODS.includes(method);

/** Returns the token that proves that a page of the console made a request: other sites cannot read it. */
export function csrfTokenOf(sessionToken: string): string {
  return createHash('sha256').update(`csrf\n${sessionToken}`).digest('base64url');
}

/** Rejects requests of other sites: Origin must be that of the console. */
export function checkOrigin({ headers }: IncomingMessage, consoleOrigin: string): Rejection {
  const isCrossSite = headers['sec-fetch-site'] === 'cross-site';
  if (!isCrossSite && headers.origin === consoleOrigin) return undefined;
  return invalidRequest([{ path: 'header.Origin', message: `must be ${consoleOrigin}` }]);
}

/** Rejects a request that writes unless it comes from a page of the console, in the session of `sessionToken`. */
export function checkWrite(request: IncomingMessage, consoleOrigin: string, sessionToken: string): Rejection {
  const given = request.headers[CSRF_HEADER];
  const expected = Buffer.from(csrfTokenOf(sessionToken));
  const found = Buffer.from(typeof given === 'string' ? given : '');
  const isValid = found.length === expected.length && timingSafeEqual(found, expected);
  return (
    checkOrigin(request, consoleOrigin) ??
    (isValid ? undefined : invalidRequest([{ path: 'header.X-CSRF-Token', message: NO_CSRF_TOKEN }]))
  );
}

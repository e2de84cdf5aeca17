import type { IncomingMessage } from 'node:http';
import { ApiError, type Rejection } from '#kit/errors.ts';

/**
 * Returns EXPECTATION_FAILED for any expectation except 100-continue. HTTP/1.0 has no Expect header, so it is ignored.
 */
export function checkExpectHeader({ headers, httpVersion }: IncomingMessage): Rejection {
  if (headers.expect === undefined || httpVersion === '1.0') return undefined;
  return headers.expect.toLowerCase() === '100-continue' ? undefined : new ApiError('EXPECTATION_FAILED');
}

/**
 * True if the client may wait for 100 Continue before it sends its body. After a rejection the next bytes could be that
 * body or the next request, so that the connection must be closed.
 */
export function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion !== '1.0';
}

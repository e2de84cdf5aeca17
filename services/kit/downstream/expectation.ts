import type { IncomingMessage } from 'node:http';
import { ApiError, type Rejection } from '../errors.ts';

/** Returns EXPECTATION_FAILED for any Expect header except 100-continue. In HTTP/1.0 the Expect header is ignored. */
export function checkExpectHeader({ headers, httpVersion }: IncomingMessage): Rejection {
  if (headers.expect === undefined || httpVersion === '1.0') return undefined;
  return headers.expect.toLowerCase() === '100-continue' ? undefined : new ApiError('EXPECTATION_FAILED');
}

/**
 * True if the client may wait for 100 Continue before it sends its body. If such a request is rejected, the connection
 * must be closed, because the next bytes could be the body or another request.
 */
export function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion !== '1.0';
}

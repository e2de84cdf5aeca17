import type { IncomingMessage } from 'node:http';
import { ApiError, type Refusal } from '#kit/errors.ts';

/** EXPECTATION_FAILED for any expectation but that of a 100. HTTP/1.0 knows none, and there it says nothing. */
export function checkExpectation({ headers, httpVersion }: IncomingMessage): Refusal {
  if (headers.expect === undefined || httpVersion === '1.0') return undefined;
  return headers.expect.toLowerCase() === '100-continue' ? undefined : new ApiError('EXPECTATION_FAILED');
}

/**
 * Whether the caller may hold its body back until it is told to go on. What it sends after a refusal could be that body
 * or its next request, so that nothing more is read from it then.
 */
export function expectsContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion !== '1.0';
}

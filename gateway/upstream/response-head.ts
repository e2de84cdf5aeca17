/** Thrown if a service sent bytes that are not a valid HTTP response, or that two parsers could read differently. */
export class MalformedResponse extends Error {}

/**
 * Matches header values with visible characters, spaces, tabs and bytes above ASCII: no line breaks, and nothing that
 * Node refuses to write.
 */
const TEXT = /^[\t\x20-\x7e\x80-\xff]*$/;
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
/**
 * Matches the Transfer-Encoding `chunked` with spaces around it, but no tabs, because Node's parser takes a tab for a
 * part of the value.
 */
const CHUNKED = /^ *chunked *$/i;
const LENGTH = /^\d{1,15}$/;
/** The statuses of responses that never have a body. */
export const BODILESS: readonly number[] = [204, 304];
const SWITCHING_PROTOCOLS = 101;

/** Throws MalformedResponse unless a response's status is 100 to 599 and not 101, which the gateway never asks for. */
export function checkStatus(status: number, reason: string): void {
  if (!(status >= 100 && status <= 599) || status === SWITCHING_PROTOCOLS) {
    throw new MalformedResponse('the status is not between 100 and 599, or is 101');
  }
  if (!TEXT.test(reason)) throw new MalformedResponse('the reason phrase has a control character');
}

/** Throws MalformedResponse unless a response header can be relayed unchanged. */
export function checkField(name: string, value: string): void {
  if (!NAME.test(name)) throw new MalformedResponse('a header name is invalid');
  if (!TEXT.test(value)) throw new MalformedResponse('a header has a control character');
}

/**
 * Throws MalformedResponse if parsers could disagree about the end of a response's body. `encoding` must not be
 * trimmed.
 */
export function checkFraming(status: number, length: string | undefined, encoding: string | undefined): void {
  if (encoding !== undefined && (!CHUNKED.test(encoding) || length !== undefined || BODILESS.includes(status))) {
    throw new MalformedResponse('the framing is ambiguous');
  }
  if (length !== undefined && !LENGTH.test(length)) throw new MalformedResponse('the length is not a number');
}

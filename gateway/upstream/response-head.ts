import type { IncomingMessage } from 'node:http';
import { withoutBlanks } from '../downstream/headers.ts';

/** A service has sent something that is not a response, or that could be read in two ways. */
export class MalformedResponse extends Error {}

/** Visible characters, blanks, tabs and bytes beyond ASCII: nothing that ends a line or that Node refuses to write. */
const TEXT = /^[\t\x20-\x7e\x80-\xff]*$/;
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
/** A tab around it is a part of it to Node's parser. */
const CHUNKED = /^ *chunked *$/i;
const LENGTH = /^\d{1,15}$/;
/** Statuses of responses that never have a body. */
export const BODILESS: readonly number[] = [204, 304];
const SWITCHING_PROTOCOLS = 101;

/** MalformedResponse unless it is an informational status but 101, which nobody asked for, or a final one to 599. */
export function checkStatus(status: number, reason: string): void {
  if (!(status >= 100 && status <= 599) || status === SWITCHING_PROTOCOLS) {
    throw new MalformedResponse('its status is not from 200 to 599');
  }
  if (!TEXT.test(reason)) throw new MalformedResponse('its reason phrase has a control character');
}

/** MalformedResponse unless the header can be relayed as it is. */
export function checkField(name: string, value: string): void {
  if (!NAME.test(name)) throw new MalformedResponse('a header has no valid name');
  if (!TEXT.test(value)) throw new MalformedResponse('a header has a control character');
}

/** MalformedResponse where readers could disagree on where the body ends. `encoding` with the blanks around it. */
export function checkFraming(status: number, length: string | undefined, encoding: string | undefined): void {
  if (encoding !== undefined && (!CHUNKED.test(encoding) || length !== undefined || BODILESS.includes(status))) {
    throw new MalformedResponse('it is framed in two ways');
  }
  if (length !== undefined && !LENGTH.test(length)) throw new MalformedResponse('its length is not a number');
}

/** Holds a response that Node's parser has read against the same rules; MalformedResponse. */
export function checkHead({ statusCode = 0, statusMessage = '', headers, rawHeaders }: IncomingMessage): void {
  checkStatus(statusCode, statusMessage);
  for (let index = 0; index < rawHeaders.length; index += 2) {
    checkField(rawHeaders[index] as string, rawHeaders[index + 1] as string);
  }
  const length = headers['content-length'];
  checkFraming(statusCode, length === undefined ? undefined : withoutBlanks(length), headers['transfer-encoding']);
}

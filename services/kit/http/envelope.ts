import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { ApiError } from '../errors.ts';
import { addMissing, type HeaderList, writeAnswerHead } from './response-headers.ts';

/** What a handler answers: the envelope's data, and what differs from its row of the route table. */
export interface Answer<Data = unknown> {
  data: Data;
  /** Replaces the row's status, for writes that found their work done. */
  status?: number;
  /** Replaces the row's message. */
  message?: string;
}

/** A handler's answer with the status and message of its row. */
export function ok<Data>(data: Data): Answer<Data> {
  return { data };
}

const SAFE_HEADERS: Readonly<HeaderList> = [
  ['content-type', 'application/json; charset=utf-8'],
  // Game engines and CDNs cache GETs unless told not to.
  ['cache-control', 'no-store'],
  ['x-content-type-options', 'nosniff'],
].flat();

/** The envelope of success as text. */
export function successBody(code: number, message: string, data: unknown): string {
  return JSON.stringify({ status: 'success', code, message, data });
}

/** The envelope of an error as text; the cause stays inside. */
export function errorBody(error: ApiError): string {
  return (error.written ??= writeError(error));
}

function writeError({ httpStatus, message, code, details }: ApiError): string {
  return JSON.stringify({ status: 'error', code: httpStatus, message, details: { ...details, code } });
}

function errorHeaders(error: ApiError): HeaderList {
  const headers: HeaderList = [];
  if (error.retryAfter !== undefined) headers.push('retry-after', error.retryAfter);
  if (error.code === 'METHOD_NOT_ALLOWED') headers.push('allow', String(error.details.allow));
  return headers;
}

/** All headers of a body of so many bytes, with some of its own. */
function headersOf(length: number, own: Readonly<HeaderList>): HeaderList {
  const headers = ['content-length', length, ...own];
  addMissing(headers, SAFE_HEADERS);
  return headers;
}

/** Writes a body made by successBody or errorBody. */
export function sendBody(
  response: ServerResponse,
  code: number,
  body: string,
  headers: Readonly<HeaderList> = [],
): void {
  const length = Buffer.byteLength(body);
  writeAnswerHead(response, code, headersOf(length, headers));
  // As many bytes as characters: it is ASCII, which takes less time to write as what it is.
  response.end(body, length === body.length ? 'latin1' : 'utf8');
}

/** Writes an error, or breaks the connection off when an answer has begun already. */
export function sendError(response: ServerResponse, error: ApiError, headers: Readonly<HeaderList> = []): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  sendBody(response, error.httpStatus, errorBody(error), [...errorHeaders(error), ...headers]);
}

/** A whole HTTP/1.1 answer as text, for sockets on which Node's parser has given up. It closes the connection. */
export function rawErrorResponse(error: ApiError, headers: Readonly<HeaderList> = []): string {
  const body = errorBody(error);
  const all = headersOf(Buffer.byteLength(body), ['connection', 'close', ...errorHeaders(error), ...headers]);
  const lines = all.map((part, index) => part + (index % 2 === 0 ? ': ' : '\r\n'));
  return `HTTP/1.1 ${error.httpStatus} ${STATUS_CODES[error.httpStatus]}\r\n${lines.join('')}\r\n${body}`;
}

import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { ApiError } from '../errors.ts';
import { addMissing, type HeaderList, writeResponseHead } from './response-headers.ts';

/**
 * The result of a route handler: the data of the response, and optionally a status or message that differs from the
 * route's.
 */
export interface HandlerResult<Data = unknown> {
  data: Data;
  /** The HTTP status instead of the route's, for writes that had nothing to change. */
  status?: number;
  /** The message instead of the route's. */
  message?: string;
}

/** Returns a handler result that uses the status and message of its route. */
export function ok<Data>(data: Data): HandlerResult<Data> {
  return { data };
}

const SAFE_HEADERS: Readonly<HeaderList> = [
  ['content-type', 'application/json; charset=utf-8'],
  // Without this header game engines and CDNs cache the responses to GET requests.
  ['cache-control', 'no-store'],
  ['x-content-type-options', 'nosniff'],
].flat();

/** Returns the response body of a successful request: the data in the JSON envelope of all responses. */
export function successBody(code: number, message: string, data: unknown): string {
  return JSON.stringify({ status: 'success', code, message, data });
}

/**
 * Returns the response body of a failed request: the error in the JSON envelope of all responses, without its cause.
 */
export function errorBody({ httpStatus, message, code, details }: ApiError): string {
  return JSON.stringify({ status: 'error', code: httpStatus, message, details: { ...details, code } });
}

function errorHeaders(error: ApiError): HeaderList {
  const headers: HeaderList = [];
  if (error.retryAfter !== undefined) headers.push('retry-after', error.retryAfter);
  if (error.code === 'METHOD_NOT_ALLOWED') headers.push('allow', String(error.details.allow));
  return headers;
}

/** Returns all headers of a response whose body has `length` bytes. */
function headersOf(length: number, own: Readonly<HeaderList>): HeaderList {
  const headers = ['content-length', length, ...own];
  addMissing(headers, SAFE_HEADERS);
  return headers;
}

/** Sends a response with a body that successBody or errorBody has created. */
export function sendBody(
  response: ServerResponse,
  code: number,
  body: string,
  headers: Readonly<HeaderList> = [],
): void {
  writeResponseHead(response, code, headersOf(Buffer.byteLength(body), headers));
  response.end(body);
}

/** Sends an error response, or closes the connection if a response has already been started. */
export function sendError(response: ServerResponse, error: ApiError, headers: Readonly<HeaderList> = []): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  sendBody(response, error.httpStatus, errorBody(error), [...errorHeaders(error), ...headers]);
}

/**
 * Returns a complete HTTP/1.1 error response as text, to be written to a socket after Node failed to parse a request.
 * The response tells the client to close the connection.
 */
export function rawErrorResponse(error: ApiError, headers: Readonly<HeaderList> = []): string {
  const body = errorBody(error);
  const all = headersOf(Buffer.byteLength(body), ['connection', 'close', ...errorHeaders(error), ...headers]);
  const lines = all.map((part, index) => part + (index % 2 === 0 ? ': ' : '\r\n'));
  return `HTTP/1.1 ${error.httpStatus} ${STATUS_CODES[error.httpStatus]}\r\n${lines.join('')}\r\n${body}`;
}

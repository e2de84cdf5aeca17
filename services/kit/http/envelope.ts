import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { ApiError } from '../errors.ts';
import { addMissing, type HeaderList, writeResponseHead } from './response-headers.ts';

/** The result of a route handler: the data of the response envelope, and optionally another status or message. */
export interface HandlerResult<Data = unknown> {
  data: Data;
  /** Replaces the status of the route, for writes that had nothing to do. */
  status?: number;
  /** Replaces the message of the route. */
  message?: string;
}

/** A handler's result with the status and message of its route. */
export function ok<Data>(data: Data): HandlerResult<Data> {
  return { data };
}

const SAFE_HEADERS: Readonly<HeaderList> = [
  ['content-type', 'application/json; charset=utf-8'],
  // By default game engines and CDNs cache the responses to GET.
  ['cache-control', 'no-store'],
  ['x-content-type-options', 'nosniff'],
].flat();

/** The JSON envelope of a success. */
export function successBody(code: number, message: string, data: unknown): string {
  return JSON.stringify({ status: 'success', code, message, data });
}

/** The JSON envelope of an error, without its cause. */
export function errorBody({ httpStatus, message, code, details }: ApiError): string {
  return JSON.stringify({ status: 'error', code: httpStatus, message, details: { ...details, code } });
}

function errorHeaders(error: ApiError): HeaderList {
  const headers: HeaderList = [];
  if (error.retryAfter !== undefined) headers.push('retry-after', error.retryAfter);
  if (error.code === 'METHOD_NOT_ALLOWED') headers.push('allow', String(error.details.allow));
  return headers;
}

/** All headers of a response with a body of this length. */
function headersOf(length: number, own: Readonly<HeaderList>): HeaderList {
  const headers = ['content-length', length, ...own];
  addMissing(headers, SAFE_HEADERS);
  return headers;
}

/** Sends a body made by successBody or errorBody. */
export function sendBody(
  response: ServerResponse,
  code: number,
  body: string,
  headers: Readonly<HeaderList> = [],
): void {
  writeResponseHead(response, code, headersOf(Buffer.byteLength(body), headers));
  response.end(body);
}

/** Sends an error, or closes the connection if a response has already been started. */
export function sendError(response: ServerResponse, error: ApiError, headers: Readonly<HeaderList> = []): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  sendBody(response, error.httpStatus, errorBody(error), [...errorHeaders(error), ...headers]);
}

/** A complete HTTP/1.1 error response as text, for a socket after a parse error of Node. It closes the connection. */
export function rawErrorResponse(error: ApiError, headers: Readonly<HeaderList> = []): string {
  const body = errorBody(error);
  const all = headersOf(Buffer.byteLength(body), ['connection', 'close', ...errorHeaders(error), ...headers]);
  const lines = all.map((part, index) => part + (index % 2 === 0 ? ': ' : '\r\n'));
  return `HTTP/1.1 ${error.httpStatus} ${STATUS_CODES[error.httpStatus]}\r\n${lines.join('')}\r\n${body}`;
}

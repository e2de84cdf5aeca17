import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError, type ErrorCode, invalidRequest, methodNotAllowed } from '../errors.ts';
import { rawErrorResponse, sendError } from '../http/envelope.ts';
import { newRequestId, REQUEST_ID_HEADER, requestIdOf } from '../http/request-id.ts';
import type { HeaderList } from '../http/response-headers.ts';
import { type Exchange, latestExchange } from '../http/server.ts';
import { splitTarget } from '../http/target.ts';
import { targetFault } from './guard.ts';

const CODES: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'PAYLOAD_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
};
const HEAD_END = '\r\n\r\n';
const UNKNOWN_METHOD = 'HPE_INVALID_METHOD';
const HEAD_LINE = /^HEAD /;
const REQUEST_LINE = /^[A-Za-z]+ (\S+) HTTP\/1\.[01]\r?\n/;

export interface ProtocolErrorOptions {
  /** Called with the error code of each request that Node's HTTP parser rejects. */
  rejected: (code: ErrorCode) => void;
  /** Returns the HTTP methods that a path supports, or undefined if there is no such path. */
  methodsOf: (path: string) => readonly string[] | undefined;
  /** All HTTP methods of the API, for the response to CONNECT, whose target is not a path. */
  methods: readonly string[];
  /** Headers of each such response. */
  headers?: Readonly<HeaderList>;
}

/** Sends the API's error response for requests that Node's HTTP parser rejects, and for CONNECT. */
export function respondToProtocolErrors(
  server: Server,
  { rejected, methodsOf, methods, headers = [] }: ProtocolErrorOptions,
): void {
  const malformed = new WeakSet<Socket>();
  server.on('clientError', (error: NodeJS.ErrnoException, connection) => {
    // Node types the connection of `clientError` as Duplex, but for an HTTP server it is always a Socket.
    const socket = connection as Socket;
    if (error.code === 'ECONNRESET') socket.destroy();
    // The bytes after a protocol error cannot be interpreted. A socket that is not writable is about to be closed.
    if (!socket.writable || malformed.has(socket)) return;
    malformed.add(socket);
    const rejection = parserRejection(error, methodsOf);
    rejected(rejection.code);
    const exchange = latestExchange(socket);
    const isHead = HEAD_LINE.test(packetOf(error));
    if (!exchange || (exchange.response.closed && exchange.request.complete))
      endWith(socket, rejection, { headers, isHead });
    else closeAfterResponse(exchange, rejection, socket);
  });
  // The request listener checks the Expect header together with all other headers.
  for (const event of ['checkContinue', 'checkExpectation']) {
    server.on(event, (request, response) => server.emit('request', request, response));
  }
  // There is no `upgrade` listener, so Node ignores the Upgrade header and emits a normal request.
  server.on('connect', (request: IncomingMessage, stream: Duplex) => {
    rejected('METHOD_NOT_ALLOWED');
    // For a CONNECT with a body Node passes a separate stream, so the socket is taken from the request.
    const { socket } = request;
    if (stream !== socket) stream.on('error', () => undefined).resume();
    socket.on('error', () => socket.destroy());
    const rejection = methodNotAllowed(methods);
    const end = () => endWith(socket, rejection, { headers, requestId: idOf(request) });
    // The response to an earlier request of the connection must be sent before the error.
    const exchange = latestExchange(socket);
    if (exchange && !exchange.response.closed) exchange.response.once('finish', end);
    else end();
  });
}

function idOf(request: IncomingMessage): string {
  return requestIdOf(request.headers[REQUEST_ID_HEADER]?.toString());
}

/** Returns the bytes that Node's HTTP parser was reading when it failed. */
function packetOf(error: NodeJS.ErrnoException & { rawPacket?: Buffer }): string {
  return error.rawPacket?.toString('latin1') ?? '';
}

function parserRejection(error: NodeJS.ErrnoException, methodsOf: ProtocolErrorOptions['methodsOf']): ApiError {
  const [, target] = REQUEST_LINE.exec(packetOf(error)) ?? [];
  if (error.code === UNKNOWN_METHOD && target !== undefined) return unknownMethod(target, methodsOf);
  const code = CODES[error.code ?? ''];
  return code ? new ApiError(code) : invalidRequest([{ path: 'request', message: 'is not well-formed HTTP/1.1' }]);
}

/** Returns the error for an unknown HTTP method: the same as for a known method that the path does not support. */
function unknownMethod(target: string, methodsOf: ProtocolErrorOptions['methodsOf']): ApiError {
  const fault = targetFault(target);
  if (fault) return invalidRequest([fault]);
  const methods = methodsOf(splitTarget(target).path);
  return methods ? methodNotAllowed(methods) : new ApiError('ROUTE_NOT_FOUND');
}

/**
 * Closes the connection after the pending response. No error may be written before that response, because the client
 * would take it for the response. If the protocol error is in the body of the pending request, the error is its
 * response.
 */
function closeAfterResponse({ request, response }: Exchange, rejection: ApiError, socket: Socket): void {
  if (response.closed) return socket.destroySoon();
  response.once('close', () => socket.destroySoon());
  // The protocol error is behind the pending request, or the pending response has already begun.
  if (request.complete || response.headersSent) return;
  // The error is sent after the parser call that read both head and body, because the errors of the head come first.
  setImmediate(() => {
    if (!response.headersSent && !response.closed) sendError(response, rejection, ['connection', 'close']);
  });
}

function endWith(
  socket: Socket,
  rejection: ApiError,
  {
    headers,
    requestId = newRequestId(),
    isHead = false,
  }: { headers: Readonly<HeaderList>; requestId?: string; isHead?: boolean },
): void {
  const bytes = rawErrorResponse(rejection, [REQUEST_ID_HEADER, requestId, ...headers]);
  socket.write(isHead ? bytes.slice(0, bytes.indexOf(HEAD_END) + HEAD_END.length) : bytes);
  socket.destroySoon();
}

import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { rawErrorResponse, sendError } from '#kit/envelope.ts';
import { ApiError, type ErrorCode, invalidRequest, methodNotAllowed } from '#kit/errors.ts';
import { type Exchange, newestExchange } from '#kit/http-server.ts';
import { newRequestId, REQUEST_ID_HEADER, requestIdOf } from '#kit/request-id.ts';
import { splitTarget } from '#kit/target.ts';

const CODES: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'PAYLOAD_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
};
const HEAD_END = '\r\n\r\n';
const UNKNOWN_METHOD = 'HPE_INVALID_METHOD';
const HEAD_LINE = /^HEAD /;
const REQUEST_LINE = /^[A-Za-z]+ \S+ HTTP\/1\.[01]\r?\n/;
/** What paths take, where there is no saying which path is meant. */
const ANY_METHOD = ['GET', 'POST', 'PATCH', 'DELETE'];

/**
 * Answers in the envelope what Node's HTTP parser refuses or hands out beside the request listener; `methodsOf` tells
 * what a path takes, undefined where there is no such path.
 */
export function answerProtocolErrors(
  server: Server,
  refused: (code: ErrorCode) => void,
  methodsOf: (path: string) => string[] | undefined,
): void {
  const faulty = new WeakSet<Socket>();
  server.on('clientError', (error: NodeJS.ErrnoException, connection) => {
    // Here it is always the socket itself, whatever the event is typed as.
    const socket = connection as Socket;
    if (error.code === 'ECONNRESET') socket.destroy();
    // Behind a fault there is no telling what bytes mean; what no longer is writable is about to be closed.
    if (!socket.writable || faulty.has(socket)) return;
    faulty.add(socket);
    const refusal = parserRefusal(error);
    refused(refusal.code);
    const exchange = newestExchange(socket);
    const isHead = HEAD_LINE.test(packetOf(error));
    if (!exchange || (exchange.response.closed && exchange.request.complete)) endWith(socket, refusal, { isHead });
    else closeAfterAnswer(exchange, refusal, socket);
  });
  // An expectation is judged in its place among all that a request is judged by.
  for (const event of ['checkContinue', 'checkExpectation']) {
    server.on(event, (request, response) => server.emit('request', request, response));
  }
  const refuseMethod = (request: IncomingMessage, stream: Duplex) => {
    refused('METHOD_NOT_ALLOWED');
    // Where a body is announced, Node hands out a stream of its own that stands before the connection.
    const { socket } = request;
    if (stream !== socket) stream.on('error', () => undefined).resume();
    socket.on('error', () => socket.destroy());
    const refusal = methodNotAllowed(methodsOf(splitTarget(request.url ?? '').path) ?? ANY_METHOD);
    const end = () => endWith(socket, refusal, { requestId: idOf(request), isHead: request.method === 'HEAD' });
    // The answer to a request before it is still due.
    const exchange = newestExchange(socket);
    if (exchange && !exchange.response.closed) exchange.response.once('finish', end);
    else end();
  };
  server.on('connect', refuseMethod);
  server.on('upgrade', refuseMethod);
}

function idOf(request: IncomingMessage): string {
  return requestIdOf(request.headers[REQUEST_ID_HEADER]?.toString());
}

/** What the parser was reading. */
function packetOf(error: NodeJS.ErrnoException & { rawPacket?: Buffer }): string {
  return error.rawPacket?.toString('latin1') ?? '';
}

function parserRefusal(error: NodeJS.ErrnoException): ApiError {
  const isRequest = REQUEST_LINE.test(packetOf(error));
  if (error.code === UNKNOWN_METHOD && isRequest) return methodNotAllowed(ANY_METHOD);
  const code = CODES[error.code ?? ''];
  return code ? new ApiError(code) : invalidRequest([{ path: 'request', message: 'is not well-formed HTTP/1.1' }]);
}

/**
 * Nothing may be written before the answer that is due, or the peer takes it for that answer.
 * When the fault is in that very request's body, it is the answer, unless there was one already.
 */
function closeAfterAnswer({ request, response }: Exchange, refusal: ApiError, socket: Socket): void {
  if (response.closed) return socket.destroySoon();
  response.once('close', () => socket.destroySoon());
  // The service has begun to answer.
  if (request.complete || response.headersSent) return;
  sendError(response, refusal, ['connection', 'close']);
}

function endWith(
  socket: Socket,
  refusal: ApiError,
  { requestId = newRequestId(), isHead }: { requestId?: string; isHead: boolean },
): void {
  const answer = rawErrorResponse(refusal, [REQUEST_ID_HEADER, requestId]);
  socket.write(isHead ? answer.slice(0, answer.indexOf(HEAD_END) + HEAD_END.length) : answer);
  socket.destroySoon();
}

import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError, type ErrorCode, invalidRequest, methodNotAllowed } from '#kit/errors.ts';
import { rawErrorResponse, sendError } from '#kit/http/envelope.ts';
import { newRequestId, REQUEST_ID_HEADER, requestIdOf } from '#kit/http/request-id.ts';
import { type Exchange, newestExchange } from '#kit/http/server.ts';
import { splitTarget } from '#kit/http/target.ts';
import { targetFault } from '../steps/guard.ts';

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
  /** Called with the code of each rejection. */
  refused: (code: ErrorCode) => void;
  /** The methods of a path; undefined where there is no such path. */
  methodsOf: (path: string) => readonly string[] | undefined;
  /** All methods of the API: the target of a CONNECT is not a path. */
  methods: readonly string[];
}

/** Responds in the envelope to what Node's HTTP parser rejects or hands out beside the request listener. */
export function answerProtocolErrors(server: Server, { refused, methodsOf, methods }: ProtocolErrorOptions): void {
  const faulty = new WeakSet<Socket>();
  server.on('clientError', (error: NodeJS.ErrnoException, connection) => {
    // Here it is always the socket itself, whatever the event is typed as.
    const socket = connection as Socket;
    if (error.code === 'ECONNRESET') socket.destroy();
    // Behind a fault there is no telling what bytes mean; what no longer is writable is about to be closed.
    if (!socket.writable || faulty.has(socket)) return;
    faulty.add(socket);
    const refusal = parserRefusal(error, methodsOf);
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
  // Without a listener for it, an Upgrade is ignored, and the request is handled as any other.
  server.on('connect', (request: IncomingMessage, stream: Duplex) => {
    refused('METHOD_NOT_ALLOWED');
    // Where a body is announced, Node hands out a stream of its own that stands before the connection.
    const { socket } = request;
    if (stream !== socket) stream.on('error', () => undefined).resume();
    socket.on('error', () => socket.destroy());
    const refusal = methodNotAllowed(methods);
    const end = () => endWith(socket, refusal, { requestId: idOf(request) });
    // The answer to a request before it is still due.
    const exchange = newestExchange(socket);
    if (exchange && !exchange.response.closed) exchange.response.once('finish', end);
    else end();
  });
}

function idOf(request: IncomingMessage): string {
  return requestIdOf(request.headers[REQUEST_ID_HEADER]?.toString());
}

/** What the parser was reading. */
function packetOf(error: NodeJS.ErrnoException & { rawPacket?: Buffer }): string {
  return error.rawPacket?.toString('latin1') ?? '';
}

function parserRefusal(error: NodeJS.ErrnoException, methodsOf: ProtocolErrorOptions['methodsOf']): ApiError {
  const [, target] = REQUEST_LINE.exec(packetOf(error)) ?? [];
  if (error.code === UNKNOWN_METHOD && target !== undefined) return unknownMethod(target, methodsOf);
  const code = CODES[error.code ?? ''];
  return code ? new ApiError(code) : invalidRequest([{ path: 'request', message: 'is not well-formed HTTP/1.1' }]);
}

/** A method that Node does not know is judged in the same order as one that it knows. */
function unknownMethod(target: string, methodsOf: ProtocolErrorOptions['methodsOf']): ApiError {
  const fault = targetFault(target);
  if (fault) return invalidRequest([fault]);
  const methods = methodsOf(splitTarget(target).path);
  return methods ? methodNotAllowed(methods) : new ApiError('ROUTE_NOT_FOUND');
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
  { requestId = newRequestId(), isHead = false }: { requestId?: string; isHead?: boolean },
): void {
  const answer = rawErrorResponse(refusal, [REQUEST_ID_HEADER, requestId]);
  socket.write(isHead ? answer.slice(0, answer.indexOf(HEAD_END) + HEAD_END.length) : answer);
  socket.destroySoon();
}

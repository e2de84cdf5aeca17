import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { rawErrorResponse, sendError } from '#kit/envelope.ts';
import { ApiError, type ErrorCode, invalidRequest, methodNotAllowed } from '#kit/errors.ts';
import { newRequestId, REQUEST_ID_HEADER } from '#kit/request-id.ts';

const CODES: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'HEADERS_TOO_LARGE',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'PAYLOAD_TOO_LARGE',
  ERR_HTTP_REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
};

/** Told for CONNECT and Upgrade, which no path takes. */
const ANY_METHOD = ['GET', 'POST', 'PATCH', 'DELETE'];

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/** Answers in the envelope what Node's HTTP parser refuses or hands out beside the request listener. */
export function answerProtocolErrors(server: Server, refused: (code: ErrorCode) => void): void {
  /** The newest request of each connection. */
  const unanswered = new WeakMap<Duplex, Exchange>();
  server.prependListener('request', (request, response) => {
    const exchange = { request, response };
    unanswered.set(request.socket, exchange);
    // The next request of the connection may have come while this one was at work.
    response.once('close', () => {
      if (unanswered.get(request.socket) === exchange) unanswered.delete(request.socket);
    });
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const refusal = parserRefusal(error);
    refused(refusal.code);
    const exchange = unanswered.get(socket);
    if (exchange) closeAfterAnswer(exchange, refusal, socket);
    else endWith(socket, refusal);
  });
  server.on('checkExpectation', (_request, response: ServerResponse) => {
    refused('EXPECTATION_FAILED');
    response.setHeader(REQUEST_ID_HEADER, newRequestId());
    sendError(response, new ApiError('EXPECTATION_FAILED'));
  });
  const refuseMethod = (_request: IncomingMessage, socket: Duplex) => {
    refused('METHOD_NOT_ALLOWED');
    socket.on('error', () => socket.destroy());
    endWith(socket, methodNotAllowed(ANY_METHOD));
  };
  server.on('connect', refuseMethod);
  server.on('upgrade', refuseMethod);
}

function parserRefusal(error: NodeJS.ErrnoException): ApiError {
  const code = CODES[error.code ?? ''];
  return code ? new ApiError(code) : invalidRequest([{ path: 'request', message: 'is not well-formed HTTP/1.1' }]);
}

/**
 * Nothing may be written before the answer that is due, or the peer takes it for that answer.
 * When the fault is in that very request's body, it is the answer.
 */
function closeAfterAnswer({ request, response }: Exchange, refusal: ApiError, socket: Duplex): void {
  response.once('close', () => socket.destroy());
  if (request.complete) return;
  sendError(response, refusal, { connection: 'close' });
}

function endWith(socket: Duplex, refusal: ApiError): void {
  socket.end(rawErrorResponse(refusal, { [REQUEST_ID_HEADER]: newRequestId() }));
}

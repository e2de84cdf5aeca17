import type { Agent, ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { createProxyMiddleware, type Plugin } from 'http-proxy-middleware';
import { ApiError } from '#kit/errors.ts';
import { BODY_LIMIT, hasBody } from '#kit/http/body.ts';
import { serverNameOf } from '#kit/security/internal-tls.ts';
import { attemptOf, type UpstreamRequest } from './attempt.ts';
import { hostOf } from './connections.ts';
import { contained } from './contained.ts';
import { relayResponse } from './relay.ts';
import { checkHead, MalformedResponse } from './response-head.ts';

export type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => unknown;

/** Forwards requests of any kind to a service and streams their bodies. Each request must have its attempt. */
export function createMiddleware(target: string, agent: Agent): Middleware {
  return createProxyMiddleware({
    target: new URL(target),
    agent,
    // Without a servername Node would verify the certificate against the header Host.
    ...(target.startsWith('https:') ? { ssl: { servername: serverNameOf(hostOf(new URL(target))) } } : {}),
    ejectPlugins: true,
    plugins: [observe],
    selfHandleResponse: true,
  });
}

const observe: Plugin = (proxy) => {
  proxy.on(
    'proxyReq',
    contained(startAttempt, (error, outgoing, request) => {
      outgoing.destroy();
      attemptOf(request)?.connectionFailed(error);
    }),
  );
  proxy.on(
    'proxyRes',
    contained(relay, (error, _incoming, request, response) => {
      // If the head is already sent, closing the connection shows that the response is incomplete.
      if (response.headersSent) response.destroy();
      else attemptOf(request)?.connectionFailed(error);
    }),
  );
  proxy.on('error', (cause, request) => {
    if (request) attemptOf(request)?.connectionFailed(cause);
  });
};

function startAttempt(outgoing: ClientRequest, request: IncomingMessage, response: ServerResponse): void {
  const attempt = attemptOf(request);
  // The attempt failed before it had a connection.
  if (!attempt || attempt.failure) {
    outgoing.destroy();
    return;
  }
  attempt.started(upstreamRequestOf(outgoing, response));
  // The service sent an unrequested 101. Without a listener the request would stay open.
  outgoing.on('upgrade', (_incoming, socket) => {
    socket.destroy();
    attempt.connectionFailed(new MalformedResponse('the service switched protocols'));
  });
  if (!hasBody(request)) return;
  // The middleware pipes the body in this same turn; a listener in an earlier turn would lose the first bytes.
  request.on('data', () => attempt.receivedFromClient());
  if (request.headers['transfer-encoding']) {
    limitStream(request, () => attempt.fail(new ApiError('PAYLOAD_TOO_LARGE')));
  }
}

function relay(incoming: IncomingMessage, request: IncomingMessage, response: ServerResponse): void {
  checkHead(incoming);
  attemptOf(request)?.responseStarted();
  relayResponse(incoming, response);
}

/** The state of a request that has a connection, or one that is being opened. */
function upstreamRequestOf(outgoing: ClientRequest, response: ServerResponse): UpstreamRequest {
  const socket = outgoing.socket;
  const bytesBefore = socket?.bytesRead ?? 0;
  let hasConnected = socket?.connecting === false;
  if (!hasConnected) socket?.once('connect', () => (hasConnected = true));
  let hasHead = false;
  outgoing.prependOnceListener('response', () => (hasHead = true));
  return {
    get wasNeverSent() {
      return !hasConnected;
    },
    get hasReceivedBytes() {
      return socket !== null && socket.bytesRead > bytesBefore;
    },
    destroy: () => {
      if (response.writableEnded) return;
      // The middleware destroys `response` when `outgoing` closes early, but an error response is still to be written.
      if (hasHead && !response.headersSent) response.once('close', () => outgoing.destroy());
      else outgoing.destroy();
    },
  };
}

/** Limits a chunked body, whose length is not declared. */
function limitStream(request: IncomingMessage, exceeded: () => void): void {
  let length = 0;
  request.on('data', function count(chunk: Buffer) {
    length += chunk.length;
    if (length <= BODY_LIMIT) return;
    request.off('data', count);
    request.unpipe();
    request.resume();
    exceeded();
  });
}

import type { Agent, ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { createProxyMiddleware, type Plugin } from 'http-proxy-middleware';
import { ApiError } from '#kit/errors.ts';
import { BODY_LIMIT, hasBody } from '#kit/http/body.ts';
import { serverNameOf } from '#kit/security/internal-tls.ts';
import { contained } from '../downstream/contained.ts';
import { attemptOf, type Sending } from './attempt.ts';
import { hostOf } from './connections.ts';
import { passOn } from './relay.ts';
import { checkHead, MalformedResponse } from './response-head.ts';

export type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => unknown;

/** Passes requests of any kind on to a service, with bodies as they come; each has its attempt. */
export function createMiddleware(target: string, agent: Agent): Middleware {
  return createProxyMiddleware({
    // Read once here instead of at each request.
    target: new URL(target),
    agent,
    // Without it Node would take the name to check from the header Host.
    ...(target.startsWith('https:') ? { ssl: { servername: serverNameOf(hostOf(new URL(target))) } } : {}),
    ejectPlugins: true,
    plugins: [follow],
    selfHandleResponse: true,
  });
}

const follow: Plugin = (proxy) => {
  proxy.on(
    'proxyReq',
    contained(begin, (error, outgoing, request) => {
      outgoing.destroy();
      attemptOf(request)?.broke(error);
    }),
  );
  proxy.on(
    'proxyRes',
    contained(relay, (error, _incoming, request, response) => {
      // The head is out already: cut off, the response does not look whole.
      if (response.headersSent) response.destroy();
      else attemptOf(request)?.broke(error);
    }),
  );
  proxy.on('error', (cause, request) => {
    if (request) attemptOf(request)?.broke(cause);
  });
};

function begin(outgoing: ClientRequest, request: IncomingMessage, response: ServerResponse): void {
  const attempt = attemptOf(request);
  // It failed before it had a connection.
  if (!attempt || attempt.failure) {
    outgoing.destroy();
    return;
  }
  attempt.begun(sendingOf(outgoing, response));
  // A service that switches protocols although nobody asked for that: without a listener nothing more would happen.
  outgoing.on('upgrade', (_incoming, socket) => {
    socket.destroy();
    attempt.broke(new MalformedResponse('it switches protocols'));
  });
  if (!hasBody(request)) return;
  // Not before the body is piped on in this same turn: a listener alone would let its first bytes go by.
  request.on('data', () => attempt.heard());
  if (request.headers['transfer-encoding']) {
    limitStream(request, () => attempt.fail(new ApiError('PAYLOAD_TOO_LARGE')));
  }
}

function relay(incoming: IncomingMessage, request: IncomingMessage, response: ServerResponse): void {
  checkHead(incoming);
  attemptOf(request)?.answered();
  passOn(incoming, response);
}

/** Of a request that has a connection, or one that is being made. */
function sendingOf(outgoing: ClientRequest, response: ServerResponse): Sending {
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
    get wasHeardOf() {
      return socket !== null && socket.bytesRead > bytesBefore;
    },
    destroy: () => {
      if (response.writableEnded) return;
      // The middleware destroys `response` along with a response that is cut off, and a refusal is still to be written.
      if (hasHead && !response.headersSent) response.once('close', () => outgoing.destroy());
      else outgoing.destroy();
    },
  };
}

/** Chunked bodies tell their length only as they come. */
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

import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { hostAndPort } from '#kit/service/address.ts';
import { DeliveryError } from './errors.ts';

/** The operator's HTTP proxy. */
export interface Proxy {
  host: string;
  port: number;
  /** The value of Proxy-Authorization; undefined if the proxy needs none. */
  authorization: string | undefined;
}

const DEFAULT_PORT = 80;
const MAX_HEADER_BYTES = 16 * 1024;

/** Parses WEBHOOKS_PROXY, which the configuration has validated. */
export function parseProxy(text: string): Proxy {
  const { hostname, port, username, password } = new URL(text);
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? DEFAULT_PORT : Number(port),
    authorization: credentials === ':' ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
}

/**
 * Opens a tunnel to an address through the proxy. Throws a DeliveryError, whose `isOurs` is set if the proxy itself is
 * at fault; throws any error once `signal` is aborted.
 */
export async function openTunnel(
  proxy: Proxy,
  target: { address: string; port: number },
  signal: AbortSignal,
): Promise<Socket> {
  const path = hostAndPort(target.address, target.port);
  const { host, port, authorization } = proxy;
  const headers = { host: path, ...(authorization !== undefined && { 'proxy-authorization': authorization }) };
  const connect = request({
    host,
    port,
    method: 'CONNECT',
    path,
    headers,
    agent: false,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  connect.on('error', () => undefined);
  let isConnected = false;
  connect.on('socket', (socket) => socket.once('connect', () => (isConnected = true)));
  connect.end();
  try {
    const [response, socket, head] = (await once(connect, 'connect', { signal })) as [IncomingMessage, Socket, Buffer];
    const error = responseError(response.statusCode ?? 0, head);
    if (error === undefined) return socket;
    socket.destroy();
    throw error;
  } catch (error) {
    connect.destroy();
    if (error instanceof DeliveryError) throw error;
    // A proxy that is connected but does not respond is waiting for the address.
    throw signal.aborted && isConnected ? new DeliveryError('timeout') : unavailable();
  }
}

const unavailable = () => new DeliveryError('temporarily unavailable', { isOurs: true });

/** Returns why a response to CONNECT is no tunnel. `head` is what the other end has already sent through the tunnel. */
function responseError(status: number, head: Buffer): DeliveryError | undefined {
  if (status >= 200 && status < 300) return head.length === 0 ? undefined : new DeliveryError('malformed response');
  if (status === 403) return new DeliveryError('address not allowed');
  return status >= 500 ? new DeliveryError('connection failed') : unavailable();
}

import { once } from 'node:events';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import type { AddressRules } from './address-rules.ts';
import { DeliveryError } from './errors.ts';
import { openTunnel, type Proxy } from './proxy.ts';
import { checkedAddresses, type Resolve } from './resolve.ts';

export interface ConnectOptions {
  resolve: Resolve;
  rules: AddressRules;
  proxy: Proxy | undefined;
  secureContext: SecureContext;
}

/** The host and port of a URL, and whether the connection uses TLS. */
export interface Target {
  host: string;
  port: number;
  isSecure: boolean;
}

/** How many addresses of a host are tried, one after the other, and for how long each. */
const MAX_ADDRESSES = 4;
const ATTEMPT_TIMEOUT_MS = 3_000;

/**
 * Opens a connection to a host, directly or through the proxy: to an address that was checked, without resolving the
 * name again. With TLS the certificate must be valid for the host. Throws a DeliveryError or an error of node:net or
 * node:tls.
 */
export async function openConnection(target: Target, options: ConnectOptions, signal: AbortSignal): Promise<Socket> {
  const addresses = await untilAborted(checkedAddresses(target.host, options), signal);
  const socket = await connectToAny(inTurns(addresses), (address) => {
    const attempt = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_TIMEOUT_MS)]);
    return connectTo({ address, port: target.port }, options.proxy, attempt);
  });
  // The code that waits for the connection reports its errors. This listener only prevents that an error without a
  // listener terminates the process.
  socket.on('error', () => undefined);
  return target.isSecure ? startTls(socket, target.host, options.secureContext, signal) : socket;
}

/**
 * Returns the addresses of which a connection tries each: IPv4 and IPv6 in turns, because either may be unreachable.
 */
function inTurns(addresses: readonly string[]): string[] {
  const [v4, v6] = [4, 6].map((kind) => addresses.filter((address) => isIP(address) === kind)) as [string[], string[]];
  const longest = Math.max(v4.length, v6.length);
  const turns = Array.from({ length: longest }, (_, at) => [v4[at], v6[at]].filter((address) => address !== undefined));
  return turns.flat().slice(0, MAX_ADDRESSES);
}

/**
 * Returns the first connection that succeeds. Throws the last error, or the first error that this process itself
 * caused.
 */
async function connectToAny(addresses: string[], open: (address: string) => Promise<Socket>): Promise<Socket> {
  let failure: unknown;
  for (const address of addresses) {
    try {
      return await open(address);
    } catch (error) {
      failure = error;
      if (error instanceof DeliveryError && error.isOurs) break;
    }
  }
  throw failure;
}

async function connectTo(
  { address, port }: { address: string; port: number },
  proxy: Proxy | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  if (proxy) return openTunnel(proxy, { address, port }, signal);
  const socket = connectTcp({ host: address, port, noDelay: true });
  return settled(socket, 'connect', signal);
}

async function startTls(raw: Socket, host: string, secureContext: SecureContext, signal: AbortSignal): Promise<Socket> {
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket = connectTls({
    socket: raw,
    host,
    ...name,
    secureContext,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
  });
  return settled(socket, 'secureConnect', signal);
}

/** Waits for an event of a socket and returns the socket. Destroys the socket and throws on an error or abort. */
async function settled(socket: Socket, event: string, signal: AbortSignal): Promise<Socket> {
  socket.on('error', () => undefined);
  try {
    await once(socket, event, { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw signal.aborted ? new DeliveryError('timeout') : error;
  }
}

/** Waits for a promise, but only until the signal is aborted. */
async function untilAborted<Result>(pending: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(new DeliveryError('timeout'));
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  return Promise.race([pending, aborted.promise]).finally(() => signal.removeEventListener('abort', abort));
}

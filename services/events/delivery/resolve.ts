import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { AddressRules } from './address-rules.ts';
import { DeliveryError } from './errors.ts';

/** Returns the IPv4 and IPv6 addresses of a host name. Throws a DeliveryError if there are none. */
export type Resolve = (name: string) => Promise<string[]>;

const QUERY_TIMEOUT_MS = 2_500;
const TRIES = 2;
/** Names that RFC 6761 reserves for this machine; DNS servers do not know them. */
const LOCALHOST = /^(?:.+\.)?localhost$/;
const NO_ANSWER = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME', 'EBADQUERY']);

/**
 * Returns a function that resolves names with the DNS servers of this machine. It does not use getaddrinfo, which
 * blocks one of four threads of the process for as long as a hostile name server wishes; so /etc/hosts and search
 * domains have no effect.
 */
export function dnsResolve(servers?: readonly string[]): Resolve {
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, maxTimeout: QUERY_TIMEOUT_MS, tries: TRIES });
  if (servers) resolver.setServers(servers);
  return async (name) => {
    if (LOCALHOST.test(name)) return ['127.0.0.1', '::1'];
    // Many name servers fail for AAAA, so the addresses of one kind are enough.
    const results = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    if (addresses.length > 0) return addresses;
    throw resolveError(results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : [])));
  };
}

function resolveError(reasons: { code?: string }[]): DeliveryError {
  const codes = reasons.map(({ code = '' }) => code);
  if (codes.every((code) => NO_ANSWER.has(code))) return new DeliveryError('name not found');
  // c-ares reports ECONNREFUSED if it reaches none of our own DNS servers.
  return new DeliveryError('name could not be resolved', { isOurs: codes.includes('ECONNREFUSED') });
}

/**
 * Resolves the host of a URL and returns its addresses, which the connection must use. Throws a DeliveryError if the
 * host has no address, or if any of its addresses is not permitted.
 */
export async function checkedAddresses(
  host: string,
  { resolve, rules }: { resolve: Resolve; rules: AddressRules },
): Promise<string[]> {
  const addresses = isIP(host) === 0 ? await resolve(host) : [host];
  if (addresses.length === 0) throw new DeliveryError('name not found');
  if (!addresses.every((address) => rules.permits(address))) throw new DeliveryError('address not allowed');
  return addresses;
}

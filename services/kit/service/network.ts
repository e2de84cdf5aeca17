import { z } from 'zod';
import { url } from './config.ts';

const bare = ({ source }: RegExp) => source.slice(1, -1);
const { ipv4, ipv6, cidrv4, cidrv6 } = z.regexes;

/** IPv4 addresses in the notation of IPv6, such as ::ffff:10.0.0.1. */
const MAPPED = `::[fF]{4}:${bare(ipv4)}(?:/(?:9[6-9]|1[01][0-9]|12[0-8]))?`;
const NETWORK = new RegExp(`^(?:${[...[ipv4, ipv6, cidrv4, cidrv6].map(bare), MAPPED].join('|')})$`);

/** Describes an item of a list of IP addresses and CIDRs. The chart's schema has the same pattern. */
export const network = () => z.string().regex(NETWORK, { error: 'must hold IP addresses or CIDRs' });

/** Describes an environment variable that holds the URL of an HTTP proxy, which may have a user and a password. */
export const proxyUrl = () =>
  url('http')
    .refine((value) => isOrigin(URL.parse(value)), { error: 'must have no path, query or fragment' })
    .refine((value) => hasValidCredentials(URL.parse(value)), {
      error: 'must have a percent-encoded user and password',
    });

function isOrigin(parsed: URL | null): boolean {
  return parsed !== null && parsed.pathname === '/' && parsed.search === '' && parsed.hash === '';
}

function hasValidCredentials(parsed: URL | null): boolean {
  try {
    return parsed !== null && typeof decodeURIComponent(`${parsed.username}:${parsed.password}`) === 'string';
  } catch {
    return false;
  }
}

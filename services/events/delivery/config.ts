import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { flag, list, url } from '#kit/service/config.ts';

/** True for an IP address or a CIDR in the usual spelling; ipaddr.js alone would read 010.0.0.0/8 as 8.0.0.0/8. */
function isNetwork(text: string): boolean {
  const [address = ''] = text.split('/', 1);
  return isIP(address) !== 0 && !text.includes('%') && (ipaddr.isValid(text) || ipaddr.isValidCIDR(text));
}

/** The environment variables that decide where webhooks may be sent to, and how. */
export const webhookConfig = {
  /** True if webhook URLs may begin with `http:` and use port 80. */
  WEBHOOKS_ALLOW_HTTP: flag(false),
  /**
   * The IP addresses and CIDRs, separated by commas, to which webhooks may be sent although they are private or
   * reserved. Default: none.
   */
  WEBHOOKS_ALLOWED_NETWORKS: list(z.string().refine(isNetwork, { error: 'must hold IP addresses or CIDRs' })),
  /** The URL of an HTTP proxy through which all webhooks are sent; it may have a user and a password. */
  WEBHOOKS_PROXY: url('http')
    .refine((value) => isOrigin(URL.parse(value)), { error: 'must have no path, query or fragment' })
    .refine((value) => hasValidCredentials(URL.parse(value)), {
      error: 'must have a percent-encoded user and password',
    })
    .optional(),
  /** A PEM file of CAs that are trusted for webhook URLs in addition to the public ones. */
  WEBHOOKS_CA_FILE: z.string().optional(),
};

export type WebhookConfig = z.output<z.ZodObject<typeof webhookConfig>>;

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

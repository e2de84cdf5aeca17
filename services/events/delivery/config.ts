import { z } from 'zod';
import { flag, list } from '#kit/service/config.ts';
import { network, proxyUrl } from '#kit/service/network.ts';

/** The environment variables that decide where webhooks may be sent to, and how. */
export const webhookConfig = {
  /** True if webhook URLs may begin with `http:` and use port 80. */
  WEBHOOKS_ALLOW_HTTP: flag(false),
  /**
   * The IP addresses and CIDRs, separated by commas, to which webhooks may be sent although they are private or
   * reserved. Default: none.
   */
  WEBHOOKS_ALLOWED_NETWORKS: list(network()),
  /** The URL of an HTTP proxy through which all webhooks are sent; it may have a user and a password. */
  WEBHOOKS_PROXY: proxyUrl().optional(),
  /** A PEM file of CAs that are trusted for webhook URLs in addition to the public ones. */
  WEBHOOKS_CA_FILE: z.string().optional(),
};

export type WebhookConfig = z.output<z.ZodObject<typeof webhookConfig>>;

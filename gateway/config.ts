import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import {
  baseUrl,
  type Environment,
  grpcAddress,
  list,
  number,
  origin,
  port,
  processConfig,
  readConfig,
  redisConfig,
} from '#kit/service/config.ts';
import { SCOPES } from '#proto/rest/scopes.ts';
import { keysConfig } from './keys/config.ts';

const cidr = z.string().refine((value) => ipaddr.isValid(value) || ipaddr.isValidCIDR(value), {
  error: 'must hold IP addresses or CIDRs',
});

/** Where to report a vulnerability, as RFC 9116 wants it; the preferred one first. */
export const securityContacts = () =>
  list(
    z.string().regex(/^(?:mailto:|https:\/\/|tel:)[\x21-\x7e]+$/, {
      error: 'must hold URIs that begin with mailto:, https: or tel:',
    }),
  );

/** The gateway's variables; throws a ConfigError that lists every fault. */
export const readGatewayConfig = (environment: Environment) =>
  readConfig(
    {
      ...processConfig,
      ...redisConfig,
      ...keysConfig,
      /** The public listener. */
      GATEWAY_PORT: port(8080),
      /** Where callers reach it, for the OpenAPI document; this machine when left out. */
      PUBLIC_URL: baseUrl('http', 'https').optional(),
      /** Shown in `/.well-known/security.txt`, which is not there without it. */
      SECURITY_CONTACT: securityContacts(),
      /** Whose X-Forwarded-For is believed. */
      TRUSTED_PROXIES: list(cidr),
      AUTH_GRPC_ADDRESS: grpcAddress(),
      LOOKUP_HTTP_URL: origin('http', 'https'),
      BINDINGS_HTTP_URL: origin('http', 'https'),
      MEMBERS_HTTP_URL: origin('http', 'https'),
      ACTIVITY_HTTP_URL: origin('http', 'https'),
      MODERATION_HTTP_URL: origin('http', 'https'),
      /** What a key needs to change bindings, which decide what a sync gives; none when left out. */
      BINDINGS_WRITE_SCOPE: z.enum(SCOPES, { error: `must be one of ${SCOPES.join(', ')}` }).optional(),
      /** Over how many gateways limits are parted while Redis is away. */
      GATEWAY_REPLICAS: number(1, 1, 1000),
      /** Requests in flight at once; more get 503. One guild, or one address without a known key, holds a tenth. */
      MAX_IN_FLIGHT: number(2_000, 1, 1_000_000),
      /** Polls that wait in a service at once. One guild holds a tenth, or 2,000 where that is more. */
      MAX_WAITING_POLLS: number(20_000, 1, 1_000_000),
      /** Open client connections. */
      MAX_CONNECTIONS: number(20_000, 1, 1_000_000),
      /** A client that takes none of the bytes written for it for so long is disconnected. */
      CLIENT_WRITE_TIMEOUT_MS: number(10_000, 100, 600_000),
      /** How long a service may take. */
      SERVICE_TIMEOUT_MS: number(8_000, 1, 60_000),
      /** Longer than that of the load balancer in front. */
      KEEP_ALIVE_SECONDS: number(75, 1, 3600),
    },
    environment,
  );

export type GatewayConfig = ReturnType<typeof readGatewayConfig>;

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

/** Where to report a vulnerability (RFC 9116), the preferred contact first. */
export const securityContacts = () =>
  list(
    z.string().regex(/^(?:mailto:|https:\/\/|tel:)[\x21-\x7e]+$/, {
      error: 'must hold URIs that begin with mailto:, https: or tel:',
    }),
  );

/** Reads the gateway's variables. Throws a ConfigError that lists every error. */
export const readGatewayConfig = (environment: Environment) =>
  readConfig(
    {
      ...processConfig,
      ...redisConfig,
      ...keysConfig,
      /** The public listener. */
      GATEWAY_PORT: port(8080),
      /** The URL in the OpenAPI document, under which clients reach the gateway. Default: this machine. */
      PUBLIC_URL: baseUrl('http', 'https').optional(),
      /** Contacts in `/.well-known/security.txt`, which does not exist without them. */
      SECURITY_CONTACT: securityContacts(),
      /** Proxies whose X-Forwarded-For is trusted. */
      TRUSTED_PROXIES: list(cidr),
      AUTH_GRPC_ADDRESS: grpcAddress(),
      LOOKUP_HTTP_URL: origin('http', 'https'),
      BINDINGS_HTTP_URL: origin('http', 'https'),
      MEMBERS_HTTP_URL: origin('http', 'https'),
      ACTIVITY_HTTP_URL: origin('http', 'https'),
      MODERATION_HTTP_URL: origin('http', 'https'),
      /** The scope that changing bindings requires, because they determine the roles of a sync. Default: none. */
      BINDINGS_WRITE_SCOPE: z.enum(SCOPES, { error: `must be one of ${SCOPES.join(', ')}` }).optional(),
      /** The number of gateways that share the rate limits while Redis is unavailable. */
      GATEWAY_REPLICAS: number(1, 1, 1000),
      /** The maximum number of requests in flight; more get 503. One guild, or one address without a known key, holds a tenth. */
      MAX_IN_FLIGHT: number(2_000, 1, 1_000_000),
      /** Polls that may wait in a service at the same time. One guild holds a tenth, or 2,000 where that is more. */
      MAX_WAITING_POLLS: number(20_000, 1, 1_000_000),
      /** Open client connections. */
      MAX_CONNECTIONS: number(20_000, 1, 1_000_000),
      /** A client that reads none of the bytes written to it for this long is disconnected. */
      CLIENT_WRITE_TIMEOUT_MS: number(10_000, 100, 600_000),
      /** The timeout of a request to a service. */
      SERVICE_TIMEOUT_MS: number(8_000, 1, 60_000),
      /** Must be longer than the keep-alive of the load balancer in front. */
      KEEP_ALIVE_SECONDS: number(75, 1, 3600),
    },
    environment,
  );

export type GatewayConfig = ReturnType<typeof readGatewayConfig>;

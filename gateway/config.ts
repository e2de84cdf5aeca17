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
  ratio,
  readConfig,
  redisConfig,
} from '#kit/service/config.ts';
import { network } from '#kit/service/network.ts';
import { SCOPES } from '#proto/rest/scopes.ts';
import { keysConfig } from './keys/config.ts';

/**
 * Parses the list of contacts (`mailto:` or `https:` URIs) for reports of vulnerabilities (RFC 9116), the preferred one
 * first.
 */
export const securityContacts = () =>
  list(
    z.string().regex(/^(?:mailto:|https:\/\/|tel:)[\x21-\x2b\x2d-\x7e]+$/, {
      error: 'must hold URIs that begin with mailto:, https: or tel:',
    }),
  );

/** The environment variables of the gateway. */
export const gatewayVariables = {
  ...processConfig,
  ...redisConfig,
  ...keysConfig,
  /** The port of the public listener, to which clients connect. */
  GATEWAY_PORT: port(8080),
  /** The public URL of the gateway, which the OpenAPI document names as its server. Default: this machine. */
  PUBLIC_URL: baseUrl('http', 'https').optional(),
  /**
   * The public key of the application on the chat platform, with which the platform signs slash commands; 64 hexadecimal
   * digits. Without it `/interactions` does not exist.
   */
  CHAT_APPLICATION_PUBLIC_KEY: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, { error: 'must be 64 hexadecimal digits' })
    .optional(),
  /** The contacts in `/.well-known/security.txt`. Without a contact the gateway has no such file. */
  SECURITY_CONTACT: securityContacts(),
  /** The addresses of proxies whose X-Forwarded-For header is trusted. */
  TRUSTED_PROXIES: list(network()),
  AUTH_GRPC_ADDRESS: grpcAddress(),
  AUTH_HTTP_URL: origin('http', 'https'),
  LOOKUP_HTTP_URL: origin('http', 'https'),
  BINDINGS_HTTP_URL: origin('http', 'https'),
  MEMBERS_HTTP_URL: origin('http', 'https'),
  ACTIVITY_HTTP_URL: origin('http', 'https'),
  MODERATION_HTTP_URL: origin('http', 'https'),
  EVENTS_HTTP_URL: origin('http', 'https'),
  /**
   * The scope that an API key needs to change role bindings, because bindings determine who gets which role.
   * Default: none.
   */
  BINDINGS_WRITE_SCOPE: z.enum(SCOPES, { error: `must be one of ${SCOPES.join(', ')}` }).optional(),
  /** The number of gateways that share the rate limits while Redis is unavailable. */
  GATEWAY_REPLICAS: number(1, 1, 1000),
  /** The maximum number of requests in flight; more get 503. One guild, or one address without a known key, holds a tenth. */
  MAX_IN_FLIGHT: number(2_000, 1, 1_000_000),
  /**
   * The maximum number of polls that wait in a service and of open streams of events at the same time. One guild may hold a tenth, or 2,000 if
   * that is more.
   */
  MAX_WAITING_POLLS: number(20_000, 1, 1_000_000),
  /** The maximum number of open client connections. */
  MAX_CONNECTIONS: number(20_000, 1, 1_000_000),
  /** A client that reads none of the bytes sent to it for this many milliseconds is disconnected. */
  CLIENT_WRITE_TIMEOUT_MS: number(10_000, 100, 600_000),
  /** The share of successful requests that is logged at `info`; the others are logged at `debug`. */
  ACCESS_LOG_SAMPLE_RATIO: ratio(0),
  /** The timeout of a request from the gateway to a service, in milliseconds. */
  SERVICE_TIMEOUT_MS: number(8_000, 1, 60_000),
  /**
   * How long an idle client connection stays open, in seconds. Must be longer than in the load balancer in front.
   */
  KEEP_ALIVE_SECONDS: number(75, 1, 3600),
};

/** Reads the gateway's environment variables. Throws a ConfigError that lists every invalid variable. */
export const readGatewayConfig = (environment: Environment) =>
  readConfig(gatewayVariables, environment, faultsOfProtocols);

/** Returns a fault for each service whose URL does not use mutual TLS although this process does, or the reverse. */
function faultsOfProtocols(given: Environment): string[] {
  const isTls = given['INTERNAL_TLS_CERT_FILE'] !== undefined;
  const [wanted, wrong] = isTls ? ['https://', 'http://'] : ['http://', 'https://'];
  const why = isTls ? 'since INTERNAL_TLS_CERT_FILE is given' : 'unless INTERNAL_TLS_CERT_FILE is given';
  const names = Object.keys(given).filter((name) => name.endsWith('_HTTP_URL') && given[name]?.startsWith(wrong));
  return names.map((name) => `${name} must begin with ${wanted} ${why}`);
}

export type GatewayConfig = ReturnType<typeof readGatewayConfig>;

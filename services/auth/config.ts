import { z } from 'zod';
import {
  databaseConfig,
  type Environment,
  eventsConfig,
  flag,
  grpcAddress,
  grpcConfig,
  httpConfig,
  number,
  origin,
  processConfig,
  readConfig,
  url,
} from '#kit/service/config.ts';
import { chatPlatformConfig, platformAccessConfig } from '#platforms/config.ts';

const DAY = 24 * 3600;
const MIN_AUDIT_SECONDS = 31 * DAY;

const ISSUER_ERROR = 'must be a URL without query, fragment and credentials';
const LOOPBACK = /^(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])$/;

/** The variables of persons who sign in to the console. A provider without its variables is not offered. */
const consoleConfig = {
  /** The public address of the console, with which links to it begin; without it nobody can sign in. */
  CONSOLE_URL: origin('http', 'https')
    .refine((value) => isEncryptedOrLocal(value), { error: 'must begin with https:// unless its host is this machine' })
    .optional(),
  /** True if persons may open guilds in the console that never had a key. */
  CONSOLE_ANY_GUILD: flag(false),
  ...platformAccessConfig,
  CHAT_API_URL: chatPlatformConfig.CHAT_API_URL,
  CHAT_BOT_URL: chatPlatformConfig.CHAT_BOT_URL,
  CHAT_OAUTH_AUTHORIZE_URL: url('http', 'https').default('https://discord.com/oauth2/authorize'),
  CHAT_OAUTH_CLIENT_ID: z.string().optional(),
  CHAT_OAUTH_CLIENT_SECRET: z.string().optional(),
  /** The issuer of the OpenID provider, exactly as the provider states it, also with its trailing slash. */
  OIDC_ISSUER: z
    .string()
    // For the chart's schema.
    .regex(/^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/, { error: ISSUER_ERROR, abort: true })
    .refine((value) => isIssuer(value), { error: ISSUER_ERROR })
    .optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  /** True if the OpenID provider is called through PLATFORMS_PROXY, with the CAs of PLATFORMS_CA_FILE. */
  OIDC_THROUGH_PROXY: flag(false),
  /** What the button of the sign-in page calls the OpenID provider. */
  OIDC_LABEL: z.string().max(50, { error: 'must have at most 50 characters' }).default('Single sign-on'),
  /** The claim of ID tokens, or of userinfo, that names operators of the installation, and the value in it. */
  OIDC_OPERATOR_CLAIM: z.string().default('groups'),
  OIDC_OPERATOR_VALUE: z.string().default('guild-data-operators'),
};

/** The environment variables of auth. */
export const authVariables = {
  ...consoleConfig,
  ...processConfig,
  ...databaseConfig,
  ...grpcConfig,
  ...eventsConfig,
  ...httpConfig,
  LOOKUP_GRPC_ADDRESS: grpcAddress(),
  BINDINGS_GRPC_ADDRESS: grpcAddress(),
  MEMBERS_GRPC_ADDRESS: grpcAddress(),
  ACTIVITY_GRPC_ADDRESS: grpcAddress(),
  MODERATION_GRPC_ADDRESS: grpcAddress(),
  // Slash commands are carried out over the REST routes of these services.
  MEMBERS_HTTP_URL: origin('http', 'https'),
  ACTIVITY_HTTP_URL: origin('http', 'https'),
  MODERATION_HTTP_URL: origin('http', 'https'),
  /**
   * How long, in seconds, audit entries are stored; 0 means forever. The database never deletes entries younger than 30
   * days.
   */
  RETENTION_AUDIT_SECONDS: number(730 * DAY)
    .refine((value) => value === 0 || value >= MIN_AUDIT_SECONDS, {
      error: `must be 0 or at least ${MIN_AUDIT_SECONDS}`,
    })
    // For the chart's schema.
    .meta({ anyOf: [{ const: 0 }, { minimum: MIN_AUDIT_SECONDS }] }),
  /** How long the requests of a guild are stored by day; the API returns 30 days. */
  RETENTION_REQUESTS_SECONDS: number(30 * DAY, 30 * DAY),
};

/**
 * Reads the configuration of the auth service from environment variables. Throws a ConfigError that lists every fault.
 */
export const readAuthConfig = (environment: Environment) => readConfig(authVariables, environment, faultsOfProviders);

export type AuthConfig = ReturnType<typeof readAuthConfig>;

const PROVIDERS = [
  ['CHAT_OAUTH_CLIENT_ID', 'CHAT_OAUTH_CLIENT_SECRET'],
  ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'],
] as const;

/** A provider is configured with all of its variables and CONSOLE_URL, or with none of its variables. */
function faultsOfProviders(given: Environment): string[] {
  return PROVIDERS.filter((names) => names.some((name) => given[name] !== undefined)).flatMap((names) =>
    [...names, 'CONSOLE_URL' as const]
      .filter((name) => given[name] === undefined)
      .map((name) => `${name} is required with ${names.find((other) => given[other] !== undefined)}`),
  );
}

function isEncryptedOrLocal(value: string): boolean {
  const parsed = URL.parse(value);
  return parsed?.protocol === 'https:' || LOOPBACK.test(parsed?.hostname ?? '');
}

function isIssuer(value: string): boolean {
  const parsed = URL.parse(value);
  if (!parsed || !['http:', 'https:'].includes(parsed.protocol)) return false;
  return parsed.href === `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}

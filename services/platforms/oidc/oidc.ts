import type { ClientAuth, Configuration } from 'openid-client';
import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { SingleFlight } from '#kit/resilience/single-flight.ts';
import { PlatformHost, type PlatformOptions } from '../http/host.ts';
import {
  fetchThrough,
  OAuthClient,
  type OAuthTokens,
  type SignInSecrets,
  type TokenResponse,
} from '../oauth/client.ts';
import { providerError } from '../oauth/errors.ts';
import { openIdClient } from '../oauth/library.ts';
import { isUnauthorized } from './unauthorized.ts';

/** How long the configuration and the signing keys of the provider are used before they are read again. */
const METADATA_MS = 3_600_000;
/** How long after a failure the previous configuration is used without another attempt. */
const RETRY_MS = 60_000;
/** Requested only if the provider lists them, because some providers reject scopes that they do not know. */
const OPTIONAL_SCOPES = ['groups', 'offline_access'];

const claimsSchema = z.looseObject({
  sub: z.string().regex(/^[\x21-\x7e]{1,255}$/),
  name: z.string().optional(),
  preferred_username: z.string().optional(),
});
type Claims = z.output<typeof claimsSchema>;

export interface OpenIdConfig {
  OIDC_ISSUER: string;
  OIDC_CLIENT_ID: string;
  OIDC_CLIENT_SECRET: string;
  OIDC_LABEL: string;
  OIDC_OPERATOR_CLAIM: string;
  OIDC_OPERATOR_VALUE: string;
}

/** What the provider reports about a person. */
export interface OpenIdPerson {
  subject: string;
  name: string;
  /** True if the configured claim names the person as an operator. */
  isOperator: boolean;
  tokens: OAuthTokens;
}

/** Signs persons in with an OpenID provider, and reads whether they are operators. */
export class OpenIdProvider {
  readonly #config: OpenIdConfig;
  readonly #clock: Clock;
  readonly #client: OAuthClient;
  readonly #host: PlatformHost;
  readonly #discoveries = new SingleFlight<Configuration>();
  #discovered: { configuration: Configuration; until: number } | undefined;

  constructor({ config, redirectUri, ...options }: PlatformOptions & { config: OpenIdConfig; redirectUri: string }) {
    this.#config = config;
    this.#clock = options.clock;
    this.#host = new PlatformHost({ ...options, name: 'oidc', platform: 'OpenID provider', url: '' });
    this.#client = new OAuthClient({ provider: config.OIDC_LABEL, redirectUri, clock: options.clock });
  }

  /** Returns the address of the provider at which the person signs in. */
  async authorizationUrl(secrets: SignInSecrets): Promise<string> {
    const configuration = await this.#configuration();
    const { scopes_supported: known } = configuration.serverMetadata();
    const optional = OPTIONAL_SCOPES.filter((scope) => known?.includes(scope));
    const scope = ['openid', 'profile', ...optional].join(' ');
    return this.#client.authorizationUrl(configuration, secrets, { scope, nonce: secrets.nonce });
  }

  /** Completes a sign-in with the query of the callback. Throws the errors of OAuthClient.exchange. */
  async signIn(query: string, secrets: SignInSecrets): Promise<OpenIdPerson> {
    const configuration = await this.#configuration();
    const response = await this.#client.exchange(configuration, query, secrets);
    const claims = this.#parsed(response.claims());
    const person = await this.#person(configuration, claims.sub, response);
    if (!person) throw new ApiError('PLATFORM_ERROR', { message: `${this.#config.OIDC_LABEL} rejects its own token` });
    return person;
  }

  /** Reads the claims of a person again; undefined if the provider has ended the access. */
  async read(subject: string, tokens: OAuthTokens): Promise<OpenIdPerson | undefined> {
    const configuration = await this.#configuration();
    if (tokens.refresh === null) return this.#fromUserInfo(configuration, { subject, tokens, claims: undefined });
    const response = await this.#client.refresh(configuration, tokens.refresh);
    return response && this.#person(configuration, subject, response, tokens.refresh);
  }

  /** The claims are in the ID token, or in the response of the userinfo endpoint; providers differ. */
  async #person(
    configuration: Configuration,
    subject: string,
    response: TokenResponse,
    refresh: string | null = null,
  ): Promise<OpenIdPerson | undefined> {
    const tokens = this.#client.tokensOf(response, refresh);
    const claims = response.id_token === undefined ? undefined : this.#parsed(response.claims());
    if (claims && claims.sub !== subject) throw this.#invalid('an ID token of another person');
    const { userinfo_endpoint: userInfo } = configuration.serverMetadata();
    const isComplete = claims !== undefined && this.#config.OIDC_OPERATOR_CLAIM in claims;
    if (claims && (isComplete || userInfo === undefined)) return this.#toPerson(claims, tokens);
    return this.#fromUserInfo(configuration, { subject, tokens, claims });
  }

  async #fromUserInfo(
    configuration: Configuration,
    { subject, tokens, claims }: { subject: string; tokens: OAuthTokens; claims: Claims | undefined },
  ): Promise<OpenIdPerson | undefined> {
    const { fetchUserInfo } = await openIdClient();
    try {
      const found = await fetchUserInfo(configuration, tokens.access, subject);
      return this.#toPerson(this.#parsed({ ...claims, ...found }), tokens);
    } catch (error) {
      if (await isUnauthorized(error)) return undefined;
      throw await providerError(error, this.#config.OIDC_LABEL);
    }
  }

  #toPerson(claims: Claims, tokens: OAuthTokens): OpenIdPerson {
    const { OIDC_OPERATOR_CLAIM: claim, OIDC_OPERATOR_VALUE: wanted } = this.#config;
    const value = claims[claim];
    const isOperator = Array.isArray(value) ? value.includes(wanted) : value === wanted;
    const name = claims.name || claims.preferred_username || claims.sub;
    return { subject: claims.sub, name, isOperator, tokens };
  }

  #parsed(claims: unknown): Claims {
    const parsed = claimsSchema.safeParse(claims);
    if (!parsed.success) throw this.#invalid('claims that are not valid');
    return parsed.data;
  }

  #invalid(what: string): ApiError {
    const message = `${this.#config.OIDC_LABEL} sent no usable response`;
    return new ApiError('PLATFORM_ERROR', { message, cause: new Error(`the OpenID provider sent ${what}`) });
  }

  /** The provider's configuration, read when it is first needed, so that auth starts while the provider is down. */
  async #configuration(): Promise<Configuration> {
    const known = this.#discovered;
    if (known && known.until > this.#clock.now()) return known.configuration;
    try {
      return await this.#discoveries.run('', () => this.#discover());
    } catch (error) {
      if (!known) throw await providerError(error, this.#config.OIDC_LABEL);
      // The provider's addresses and keys rarely change, so the previous ones are used while it does not respond.
      known.until = this.#clock.now() + RETRY_MS;
      return known.configuration;
    }
  }

  async #discover(): Promise<Configuration> {
    const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: id, OIDC_CLIENT_SECRET: secret } = this.#config;
    const library = await openIdClient();
    const { ClientSecretBasic, ClientSecretPost } = library;
    const fetch = fetchThrough(this.#host, (url) => ({ limit: new URL(url).pathname }));
    const insecure = issuer.startsWith('http:') ? [library.allowInsecureRequests] : [];
    const execute = [library.enableNonRepudiationChecks, ...insecure];
    const authenticate: ClientAuth = (server, ...rest) => {
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
      const method = methods.includes('client_secret_basic') ? ClientSecretBasic(secret) : ClientSecretPost(secret);
      method(server, ...rest);
    };
    const options = { execute, [library.customFetch]: fetch };
    const configuration = await library.discovery(new URL(issuer), id, secret, authenticate, options);
    this.#discovered = { configuration, until: this.#clock.now() + METADATA_MS };
    return configuration;
  }
}

import { createHash } from 'node:crypto';
import type { Configuration } from 'openid-client';
import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { PlatformHost, type PlatformOptions, type PlatformResponse } from '../http/host.ts';
import { fetchThrough, OAuthClient, type OAuthTokens, type SignInSecrets } from '../oauth/client.ts';
import { openIdClient } from '../oauth/library.ts';

const PROVIDER = 'The chat platform';
/** The scopes of persons who sign in to the console. */
const SIGN_IN_SCOPE = 'identify guilds';
/** The maximum number of guilds per page; the platform allows persons to join at most 200. */
const PAGE_SIZE = 200;
const MAX_PAGES = 5;
/** Tokens are renewed this much before they expire, in milliseconds. */
const EXPIRY_MARGIN_MS = 60_000;
const ADMINISTRATOR = 1n << 3n;
const MANAGE_GUILD = 1n << 5n;

const userSchema = z.object({
  id: z.string().regex(/^[0-9]{1,20}$/),
  username: z.string(),
  global_name: z.string().nullish(),
});
const guildsSchema = z.array(
  z.object({
    id: z.string().regex(/^[0-9]{1,20}$/),
    name: z.string(),
    owner: z.boolean(),
    permissions: z.string().regex(/^[0-9]{1,30}$/),
  }),
);

export interface DiscordOAuthConfig {
  CHAT_API_URL: string;
  CHAT_OAUTH_AUTHORIZE_URL: string;
  CHAT_OAUTH_CLIENT_ID: string;
  CHAT_OAUTH_CLIENT_SECRET: string;
}

/** A guild of a person, and what the person may do in it. */
export interface OwnGuild {
  id: string;
  name: string;
  isOwner: boolean;
  /** True with the permission ADMINISTRATOR or MANAGE_GUILD. */
  isManager: boolean;
}

/** The account of a person. */
export interface ChatAccount {
  id: string;
  username: string;
  /** The name that the person chose, or else the username. */
  name: string;
}

export interface DiscordOAuthOptions extends PlatformOptions {
  config: DiscordOAuthConfig;
  redirectUri: string;
  /** What persons are asked to allow; if left out, what the console needs. */
  scope?: string;
  /** The name of the host in metrics and circuit breakers. */
  name?: string;
}

/** Signs persons in with their chat account, and reads which guilds they manage. */
export class DiscordOAuth {
  readonly #host: PlatformHost;
  readonly #clock: Clock;
  readonly #client: OAuthClient;
  readonly #config: DiscordOAuthConfig;
  #loaded: Promise<Configuration> | undefined;
  readonly #scope: string;

  constructor({ config, redirectUri, scope = SIGN_IN_SCOPE, name = 'chat-oauth', ...options }: DiscordOAuthOptions) {
    this.#clock = options.clock;
    this.#host = new PlatformHost({ ...options, name, platform: 'chat platform', url: '' });
    this.#client = new OAuthClient({ provider: PROVIDER, redirectUri, clock: options.clock });
    this.#config = config;
    this.#scope = scope;
  }

  /** Returns the address of the platform at which the person allows the sign-in. */
  async authorizationUrl(secrets: SignInSecrets): Promise<string> {
    return this.#client.authorizationUrl(await this.#configuration(), secrets, { scope: this.#scope });
  }

  /** Exchanges the code in the query of a callback for tokens. Throws the errors of OAuthClient.exchange. */
  async exchange(query: string, { state, verifier }: SignInSecrets): Promise<OAuthTokens> {
    const configuration = await this.#configuration();
    return this.#client.tokensOf(await this.#client.exchange(configuration, query, { state, verifier }));
  }

  /** Returns the account to which an access token belongs. */
  async account(accessToken: string): Promise<ChatAccount> {
    const response = await this.#get('/users/@me', accessToken, 'account');
    const { id, username, global_name: name } = this.#host.expect(response, userSchema);
    return { id, username, name: name || username };
  }

  /**
   * Returns the guilds of a person, and the tokens to store, which are new ones if the access token had expired.
   * Returns undefined if the person has withdrawn the access.
   */
  async guilds(tokens: OAuthTokens): Promise<{ guilds: OwnGuild[]; tokens: OAuthTokens } | undefined> {
    const isExpired = tokens.expiresAt !== null && tokens.expiresAt <= this.#clock.now() + EXPIRY_MARGIN_MS;
    const current = isExpired ? await this.#refreshed(tokens) : tokens;
    const guilds = current && (await this.#ownGuilds(current.access));
    if (guilds) return { guilds, tokens: current };
    // The platform may end an access token early, for example when the client secret is replaced.
    const renewed = isExpired ? undefined : await this.#refreshed(tokens);
    const again = renewed && (await this.#ownGuilds(renewed.access));
    return again && { guilds: again, tokens: renewed };
  }

  #configuration(): Promise<Configuration> {
    this.#loaded ??= configurationOf(this.#config, this.#host);
    return this.#loaded;
  }

  async #refreshed({ refresh }: OAuthTokens): Promise<OAuthTokens | undefined> {
    if (refresh === null) return undefined;
    const response = await this.#client.refresh(await this.#configuration(), refresh);
    return response && this.#client.tokensOf(response, refresh);
  }

  /** Returns undefined if the access token is not valid. */
  async #ownGuilds(accessToken: string): Promise<OwnGuild[] | undefined> {
    const all: OwnGuild[] = [];
    for (let page = 0; page < MAX_PAGES; page++) {
      const after = all.at(-1)?.id;
      const path = `/users/@me/guilds?limit=${PAGE_SIZE}${after === undefined ? '' : `&after=${after}`}`;
      const response = await this.#get(path, accessToken, 'guilds');
      if (response.status === 401) return undefined;
      const guilds = this.#host.expect(response, guildsSchema);
      all.push(...guilds.map(toOwnGuild));
      if (guilds.length < PAGE_SIZE) break;
    }
    return all;
  }

  /** Every person has rate limits of their own, so that a 429 pauses only the calls for this person. */
  #get(path: string, accessToken: string, what: string): Promise<PlatformResponse> {
    const limit = `${what} ${createHash('sha256').update(accessToken).digest('base64url')}`;
    const headers = { authorization: `Bearer ${accessToken}` };
    return this.#host.get(this.#config.CHAT_API_URL + path, { limit, headers, isForUser: true });
  }
}

/**
 * The platform publishes these addresses in /.well-known/oauth-authorization-server. It is named as the issuer of a
 * callback by the origin of its authorization endpoint.
 */
async function configurationOf(config: DiscordOAuthConfig, host: PlatformHost): Promise<Configuration> {
  const library = await openIdClient();
  const server = {
    issuer: new URL(config.CHAT_OAUTH_AUTHORIZE_URL).origin,
    authorization_endpoint: config.CHAT_OAUTH_AUTHORIZE_URL,
    token_endpoint: `${config.CHAT_API_URL}/oauth2/token`,
  };
  const { CHAT_OAUTH_CLIENT_ID: id, CHAT_OAUTH_CLIENT_SECRET: secret } = config;
  const configuration = new library.Configuration(server, id, secret, library.ClientSecretBasic(secret));
  configuration[library.customFetch] = fetchThrough(host, () => ({ limit: 'tokens' }));
  if (config.CHAT_API_URL.startsWith('http:')) library.allowInsecureRequests(configuration);
  return configuration;
}

function toOwnGuild({ id, name, owner, permissions }: z.output<typeof guildsSchema>[number]): OwnGuild {
  const isManager = (BigInt(permissions) & (ADMINISTRATOR | MANAGE_GUILD)) !== 0n;
  return { id, name, isOwner: owner, isManager };
}

import type { Configuration, CustomFetch, TokenEndpointResponse, TokenEndpointResponseHelpers } from 'openid-client';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { CallOptions, PlatformHost } from '../http/host.ts';
import { GrantRejectedError, providerError } from './errors.ts';
import { openIdClient } from './library.ts';

/** The secrets of one sign-in. */
export interface SignInSecrets {
  state: string;
  /** The nonce of OpenID Connect; chat platforms have none. */
  nonce: string;
  /** The verifier of PKCE. */
  verifier: string;
}

/** The tokens with which a person's data is read. */
export interface OAuthTokens {
  access: string;
  /** null if the provider issued none. */
  refresh: string | null;
  /** Unix milliseconds; null if the provider does not say. */
  expiresAt: number | null;
}

export type TokenResponse = TokenEndpointResponse & TokenEndpointResponseHelpers;

export interface OAuthClientOptions {
  /** The name of the provider in messages. */
  provider: string;
  redirectUri: string;
  clock: Clock;
}

/** The authorization code flow with PKCE, with the checks of openid-client. */
export class OAuthClient {
  readonly #options: OAuthClientOptions;

  constructor(options: OAuthClientOptions) {
    this.#options = options;
  }

  /** Returns the address to which the browser is sent. */
  async authorizationUrl(
    configuration: Configuration,
    { state, verifier }: SignInSecrets,
    parameters: Record<string, string>,
  ): Promise<string> {
    const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await openIdClient();
    const challenge = { code_challenge: await calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' };
    const all = { redirect_uri: this.#options.redirectUri, state, ...challenge, ...parameters };
    return buildAuthorizationUrl(configuration, all).href;
  }

  /**
   * Exchanges the code in the query of a callback for tokens. Throws INVALID_REQUEST if the callback is of another
   * provider, or the code is not valid, and NOT_APPLICABLE if the person cancelled.
   */
  async exchange(
    configuration: Configuration,
    query: string,
    { state, verifier, nonce }: Omit<SignInSecrets, 'nonce'> & { nonce?: string },
  ): Promise<TokenResponse> {
    requireOwnCallback(configuration, query);
    const callback = new URL(`${this.#options.redirectUri}?${query}`);
    const checks = {
      expectedState: state,
      pkceCodeVerifier: verifier,
      ...(nonce !== undefined && { expectedNonce: nonce }),
    };
    const { authorizationCodeGrant } = await openIdClient();
    try {
      return await authorizationCodeGrant(configuration, callback, checks);
    } catch (error) {
      throw await this.#converted(error);
    }
  }

  /** Returns new tokens; undefined if the provider rejects the refresh token, so that the access has ended. */
  async refresh(configuration: Configuration, refreshToken: string): Promise<TokenResponse | undefined> {
    const { refreshTokenGrant } = await openIdClient();
    try {
      return await refreshTokenGrant(configuration, refreshToken);
    } catch (error) {
      const converted = await providerError(error, this.#options.provider);
      if (converted instanceof GrantRejectedError) return undefined;
      throw converted;
    }
  }

  /** Returns the tokens of a response; a provider that does not rotate refresh tokens sends none again. */
  tokensOf(response: TokenResponse, previous: string | null = null): OAuthTokens {
    // Not `expiresIn()`, which counts from the system's clock.
    const seconds = response.expires_in;
    return {
      access: response.access_token,
      refresh: response.refresh_token ?? previous,
      expiresAt: seconds === undefined ? null : this.#options.clock.now() + seconds * 1000,
    };
  }

  async #converted(error: unknown): Promise<Error> {
    const converted = await providerError(error, this.#options.provider);
    if (!(converted instanceof GrantRejectedError)) return converted;
    return new ApiError('INVALID_REQUEST', { message: 'The sign-in is no longer valid, start again' });
  }
}

/** Longer codes than any provider issues; without a limit they would reach the provider as a request that fails there. */
const CODE = /^[\x21-\x7e]{1,4096}$/;

/**
 * Throws INVALID_REQUEST for a callback that cannot be that of this provider: it names another issuer (RFC 9207), has a
 * parameter twice, or neither a code nor an error. openid-client checks the same, but with the same error as for an
 * invalid response of the provider.
 */
function requireOwnCallback(configuration: Configuration, query: string): void {
  const { issuer, authorization_response_iss_parameter_supported: sendsIssuer } = configuration.serverMetadata();
  const parameters = new URLSearchParams(query);
  const all = (name: string) => parameters.getAll(name);
  const issuers = all('iss');
  const isOfIssuer = issuers.length === 0 ? !sendsIssuer : issuers.length === 1 && issuers[0] === issuer;
  const [code, error] = [all('code'), all('error')];
  const isComplete = code.length + error.length === 1 && code.every((given) => CODE.test(given));
  if (isOfIssuer && isComplete) return;
  throw new ApiError('INVALID_REQUEST', { message: 'This response does not belong to the sign-in, start again' });
}

const METHODS = ['GET', 'POST'] as const;

/**
 * Returns the function with which openid-client makes HTTP requests: each goes through the host's circuit breaker,
 * deadline and limits. A 5xx, a timeout and an open circuit breaker are thrown as the errors of PlatformHost.
 */
export function fetchThrough(host: PlatformHost, options: (url: string) => CallOptions = () => ({})): CustomFetch {
  return async (url, { method: name, headers, body }) => {
    const method = METHODS.find((known) => known === name);
    if (!method) throw new Error(`the method ${name} is not used`);
    const isForUser = headers['authorization']?.startsWith('Bearer ') === true;
    const call = { ...options(url), method, headers, isForUser, ...(body instanceof URLSearchParams && { body }) };
    const response = await host.call(url, call);
    const text = response.body === undefined ? null : JSON.stringify(response.body);
    const kept = ['content-type', 'www-authenticate'].flatMap((header) => {
      const value = response.headers.get(header);
      return value === null ? [] : [[header, value] as [string, string]];
    });
    return new Response(text, { status: response.status, headers: kept });
  };
}

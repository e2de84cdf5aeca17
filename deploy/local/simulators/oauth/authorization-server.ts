import { createHash, randomBytes } from 'node:crypto';
import type { Answer, Call } from '../routes.ts';
import { Rejection } from '../routes.ts';
import { type PagePerson, signInPage } from './page.ts';

const CODE_MS = 60_000;
const MAX_GRANTS = 10_000;

/** The application that may use the server, as it would be registered with the real provider. */
export type Client = { client_id: string; client_secret: string };

/** What a person has allowed an application. */
export type Grant = {
  person: string;
  clientId: string;
  redirectUri: string;
  scope: string;
  nonce: string | undefined;
  challenge: string | undefined;
};

export type Tokens = { grant: Grant; access_token: string; refresh_token: string };

type Options = {
  clock: () => number;
  accessSeconds: number;
  client: () => Client;
  persons: () => PagePerson[];
  title: string;
  /** The issuer that the response names (RFC 9207). */
  issuer: (call: Call) => string;
};

/** The authorization code flow with PKCE, as both simulated providers serve it; everything is kept in memory. */
export class AuthorizationServer {
  readonly #options: Options;
  readonly #codes = new Map<string, { grant: Grant; expiresAt: number }>();
  readonly #access = new Map<string, { grant: Grant; expiresAt: number }>();
  readonly #refresh = new Map<string, Grant>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** Shows the persons who can sign in; with `login` it sends the browser back as that person, or as one who cancels. */
  authorize(call: Call): Answer {
    const { query } = call;
    const { client, persons, title, issuer } = this.#options;
    const redirectUri = query.get('redirect_uri') ?? '';
    // Neither error is sent to the redirect URI, because it may not be that of the application.
    if (query.get('client_id') !== client().client_id) return oauthError(400, 'invalid_client', 'unknown client_id');
    if (!URL.canParse(redirectUri)) return oauthError(400, 'invalid_request', 'redirect_uri is not a URL');
    const back = (parameters: Record<string, string>) => {
      const target = new URL(redirectUri);
      const state = query.get('state');
      const all = { ...parameters, ...(state !== null && { state }), iss: issuer(call) };
      for (const [name, value] of Object.entries(all)) target.searchParams.set(name, value);
      return { status: 302, headers: { location: target.href } };
    };
    if (query.get('response_type') !== 'code') return back({ error: 'unsupported_response_type' });
    const challenge = query.get('code_challenge') ?? undefined;
    if (challenge !== undefined && query.get('code_challenge_method') !== 'S256')
      return back({ error: 'invalid_request', error_description: 'only S256 is supported' });
    const login = query.get('login');
    if (login === null) return signInPage({ title, persons: persons(), query });
    if (!persons().some(({ id }) => id === login)) return back({ error: 'access_denied' });
    const grant: Grant = {
      person: login,
      clientId: client().client_id,
      redirectUri,
      scope: query.get('scope') ?? '',
      nonce: query.get('nonce') ?? undefined,
      challenge,
    };
    return back({ code: this.#remember(this.#codes, { grant, expiresAt: this.#options.clock() + CODE_MS }) });
  }

  /** Exchanges a code or a refresh token for tokens. Every code and every refresh token works once. */
  token(call: Call): Tokens {
    const form = this.#authenticated(call);
    const type = form.get('grant_type');
    if (type !== 'authorization_code' && type !== 'refresh_token') fail(400, 'unsupported_grant_type');
    return this.#tokensFor(type === 'refresh_token' ? this.#takeRefresh(form) : this.#takeCode(form));
  }

  /** Tokens of a person who allows the scope without having been asked. */
  grant(person: string, scope: string): Tokens {
    const clientId = this.#options.client().client_id;
    return this.#tokensFor({ person, clientId, scope, redirectUri: '', nonce: undefined, challenge: undefined });
  }

  #tokensFor(grant: Grant): Tokens {
    const expiresAt = this.#options.clock() + this.#options.accessSeconds * 1000;
    return {
      grant,
      access_token: this.#remember(this.#access, { grant, expiresAt }),
      refresh_token: this.#remember(this.#refresh, grant),
    };
  }

  /** The grant of the access token of a request; undefined if the token is unknown, expired or revoked. */
  grantOf({ headers }: Call): Grant | undefined {
    const [, token] = /^Bearer (\S+)$/.exec(headers.authorization ?? '') ?? [];
    return this.grantOfToken(token ?? '');
  }

  /** The grant of an access token; undefined if the token is unknown, expired or revoked. */
  grantOfToken(token: string): Grant | undefined {
    const found = this.#access.get(token);
    return found && found.expiresAt > this.#options.clock() ? found.grant : undefined;
  }

  /** Withdraws everything that a person has allowed; without a person, everybody's grants. */
  withdraw(person?: string): void {
    const isEnded = (grant: Grant) => person === undefined || grant.person === person;
    for (const [token, { grant }] of this.#access) if (isEnded(grant)) this.#access.delete(token);
    for (const [token, grant] of this.#refresh) if (isEnded(grant)) this.#refresh.delete(token);
  }

  /** Makes all access tokens expire; refresh tokens stay. */
  expireAccess(): void {
    this.#access.clear();
  }

  /** The form of a request of the application, which authenticates by HTTP Basic or in the form. */
  #authenticated({ headers, body }: Call): URLSearchParams {
    const form = body instanceof URLSearchParams ? body : fail(400, 'invalid_request');
    const [, encoded] = /^Basic (\S+)$/.exec(headers.authorization ?? '') ?? [];
    const [id, secret] = encoded
      ? Buffer.from(encoded, 'base64').toString().split(':').map(decodeURIComponent)
      : [form.get('client_id'), form.get('client_secret')];
    const client = this.#options.client();
    if (id !== client.client_id || secret !== client.client_secret) fail(401, 'invalid_client');
    return form;
  }

  #takeCode(form: URLSearchParams): Grant {
    const code = form.get('code') ?? '';
    const found = this.#codes.get(code);
    this.#codes.delete(code);
    if (!found || found.expiresAt <= this.#options.clock()) return fail(400, 'invalid_grant');
    const { grant } = found;
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isVerified = grant.challenge === undefined || verifier === grant.challenge;
    return isVerified && form.get('redirect_uri') === grant.redirectUri ? grant : fail(400, 'invalid_grant');
  }

  #takeRefresh(form: URLSearchParams): Grant {
    const token = form.get('refresh_token') ?? '';
    const grant = this.#refresh.get(token) ?? fail(400, 'invalid_grant');
    this.#refresh.delete(token);
    return grant;
  }

  /** Stores a value under a new secret and returns the secret; the oldest value goes when there are too many. */
  #remember<Value>(store: Map<string, Value>, value: Value): string {
    const [oldest] = store.keys();
    if (store.size >= MAX_GRANTS && oldest !== undefined) store.delete(oldest);
    const secret = randomBytes(24).toString('base64url');
    store.set(secret, value);
    return secret;
  }
}

/** An error of OAuth 2 (RFC 6749, section 5.2). */
export function oauthError(status: number, error: string, description = error): Answer {
  return { status, body: { error, error_description: description } };
}

function fail(status: number, error: string): never {
  throw new Rejection(oauthError(status, error));
}

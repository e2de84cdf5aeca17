import { createHash } from 'node:crypto';
import type { Clock } from '#kit/clock.ts';
import { networkOf, parseAddress } from '#kit/downstream/client-address.ts';
import { ApiError, invalidRequest } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { RandomBytes } from '#kit/security/base62.ts';
import type { SignInSecrets } from '#platforms/oauth/client.ts';
import type { ConsoleTelemetry } from '../../console-telemetry.ts';
import { deleteSignIn, insertSignIn, type StoredSignIn } from '../../store/sign-ins.ts';
import type { CreatedSession, SignedInPerson, SignInRequest } from '../console/identity.ts';
import type { SignInProvider } from './provider.ts';
import { safeReturnTo } from './return-to.ts';

/** How long a person may take at the provider. */
const PENDING_MS = 600_000;
const SECRET_BYTES = 32;

export interface SignInOptions {
  database: Database;
  clock: Clock;
  random: RandomBytes;
  providers: readonly SignInProvider[];
  sessions: { create(person: SignedInPerson, request: SignInRequest): Promise<CreatedSession> };
  telemetry: ConsoleTelemetry;
}

export interface StartedSignIn {
  redirectUrl: string;
  browserSecret: string;
}

/**
 * Signs persons in with a provider. The browser gets a secret that it stores in a cookie, and the provider gets a state
 * that it returns. The database has only their hashes; the nonce and the PKCE verifier follow from the secret, so that
 * neither a copy of the database nor the addresses that the browser visits are enough to complete a sign-in.
 */
export class SignIn {
  readonly #options: SignInOptions;

  constructor(options: SignInOptions) {
    this.#options = options;
  }

  /** The ways to sign in that are configured. */
  get providers(): readonly Pick<SignInProvider, 'name' | 'label'>[] {
    return this.#options.providers;
  }

  /** Begins a sign-in. Returns where to send the browser, and the secret that it must send when it returns. */
  async start(request: { provider: string; returnTo: string; address: string }): Promise<StartedSignIn> {
    const { database, clock } = this.#options;
    const provider = this.#provider(request.provider);
    const [state, browserSecret] = [this.#newSecret(), this.#newSecret()];
    // The provider comes first: nothing is stored if it does not respond.
    const redirectUrl = await provider.authorizationUrl(secretsOf(state, browserSecret));
    const pending = {
      ...keyOf(provider.name, state, browserSecret),
      returnTo: safeReturnTo(request.returnTo),
      network: String(networkOf(parseAddress(request.address))),
      expiresAt: new Date(clock.now() + PENDING_MS),
    };
    await database.transaction((transaction) => insertSignIn(transaction, pending));
    return { redirectUrl, browserSecret };
  }

  /**
   * Completes a sign-in with the query of the provider's callback, and creates a session. Throws INVALID_REQUEST if the
   * state is unknown, used, expired, of another browser or of another provider, and NOT_APPLICABLE if the person
   * cancelled.
   */
  async finish(request: {
    provider: string;
    query: string;
    browserSecret: string;
    address: string;
    userAgent: string;
  }): Promise<CreatedSession> {
    const { database, clock, sessions, telemetry } = this.#options;
    const provider = this.#provider(request.provider);
    const states = new URLSearchParams(request.query).getAll('state');
    const [state = ''] = states;
    const key = keyOf(provider.name, state, request.browserSecret);
    const pending = states.length === 1 ? await deleteSignIn(database, key, new Date(clock.now())) : undefined;
    if (!pending) {
      telemetry.callbackHandled(provider.name, 'rejected');
      throw new ApiError('INVALID_REQUEST', { message: 'The sign-in has expired or was begun elsewhere, start again' });
    }
    try {
      const person = await provider.signIn(request.query, secretsOf(state, request.browserSecret));
      const { address, userAgent } = request;
      const session = await sessions.create(person, { address, userAgent, returnTo: pending.returnTo });
      telemetry.callbackHandled(provider.name, 'succeeded');
      return session;
    } catch (error) {
      telemetry.callbackHandled(provider.name, outcomeOf(error));
      throw error;
    }
  }

  #provider(name: string): SignInProvider {
    const provider = this.#options.providers.find((known) => known.name === name);
    if (!provider) throw invalidRequest([{ path: 'path.provider', message: 'is not a configured way to sign in' }]);
    return provider;
  }

  #newSecret(): string {
    return this.#options.random(SECRET_BYTES).toString('base64url');
  }
}

const hash = (...parts: string[]) => createHash('sha256').update(parts.join('\n')).digest();

const keyOf = (provider: string, state: string, browserSecret: string): StoredSignIn => ({
  provider,
  stateHash: hash('state', state),
  browserHash: hash('browser', browserSecret),
});

const secretsOf = (state: string, browserSecret: string): SignInSecrets => ({
  state,
  nonce: hash('nonce', state, browserSecret).toString('base64url'),
  verifier: hash('verifier', state, browserSecret).toString('base64url'),
});

function outcomeOf(error: unknown): 'cancelled' | 'rejected' | 'failed' {
  const code = error instanceof ApiError ? error.code : undefined;
  if (code === 'NOT_APPLICABLE') return 'cancelled';
  return code === 'INVALID_REQUEST' ? 'rejected' : 'failed';
}

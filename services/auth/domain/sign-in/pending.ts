import { createHash } from 'node:crypto';
import type { Clock } from '#kit/clock.ts';
import { networkOf, parseAddress } from '#kit/downstream/client-address.ts';
import { ApiError } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { RandomBytes } from '#kit/security/base62.ts';
import type { SignInSecrets } from '#platforms/oauth/client.ts';
import { deleteSignIn, insertSignIn, type StoredSignIn } from '../../store/sign-ins.ts';

/** How long a person may take at the provider. */
const PENDING_MS = 600_000;
const SECRET_BYTES = 32;

export interface PendingSignInsOptions {
  database: Database;
  clock: Clock;
  random: RandomBytes;
}

/** Where to send the browser, and the secret that it must send when it returns. */
export interface StartedSignIn {
  redirectUrl: string;
  browserSecret: string;
}

export interface NewSignIn {
  /** What is begun: the callback of another one does not complete it. */
  name: string;
  /** Kept until the browser returns. */
  returnTo: string;
  address: string;
  /** Returns the address of the provider. */
  authorizationUrl: (secrets: SignInSecrets) => Promise<string>;
}

/**
 * Browsers that were sent to a provider and have not returned. The browser gets a secret that it stores in a cookie, and the
 * provider gets a state that it returns. The database has only their hashes; the nonce and the PKCE verifier follow from the
 * secret, so that neither a copy of the database nor the addresses that the browser visits are enough to complete a sign-in.
 */
export class PendingSignIns {
  readonly #options: PendingSignInsOptions;

  constructor(options: PendingSignInsOptions) {
    this.#options = options;
  }

  async start({ name, returnTo, address, authorizationUrl }: NewSignIn): Promise<StartedSignIn> {
    const { database, clock } = this.#options;
    const [state, browserSecret] = [this.#newSecret(), this.#newSecret()];
    // The provider comes first: nothing is stored if it does not respond.
    const redirectUrl = await authorizationUrl(secretsOf(state, browserSecret));
    const pending = {
      ...keyOf(name, state, browserSecret),
      returnTo,
      network: String(networkOf(parseAddress(address))),
      expiresAt: new Date(clock.now() + PENDING_MS),
    };
    await database.transaction((transaction) => insertSignIn(transaction, pending));
    return { redirectUrl, browserSecret };
  }

  /**
   * Takes what was begun, which works once. Throws INVALID_REQUEST if the state is unknown, used, expired, of another browser
   * or of another name.
   */
  async take(
    name: string,
    { query, browserSecret }: { query: string; browserSecret: string },
  ): Promise<{ returnTo: string; secrets: SignInSecrets }> {
    const { database, clock } = this.#options;
    const states = new URLSearchParams(query).getAll('state');
    const [state = ''] = states;
    const key = keyOf(name, state, browserSecret);
    const pending = states.length === 1 ? await deleteSignIn(database, key, new Date(clock.now())) : undefined;
    if (pending) return { returnTo: pending.returnTo, secrets: secretsOf(state, browserSecret) };
    throw new ApiError('INVALID_REQUEST', { message: 'The sign-in has expired or was begun elsewhere, start again' });
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

import { ApiError, invalidRequest } from '#kit/errors.ts';
import type { ConsoleTelemetry } from '../../console-telemetry.ts';
import type { CreatedSession, SignedInPerson, SignInRequest } from '../console/identity.ts';
import type { PendingSignIns, StartedSignIn } from './pending.ts';
import type { SignInProvider } from './provider.ts';
import { safeReturnTo } from './return-to.ts';

export interface SignInOptions {
  pending: PendingSignIns;
  providers: readonly SignInProvider[];
  sessions: { create(person: SignedInPerson, request: SignInRequest): Promise<CreatedSession> };
  telemetry: ConsoleTelemetry;
}

/** Signs persons in to the console with a provider. */
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
    const provider = this.#provider(request.provider);
    return this.#options.pending.start({
      name: provider.name,
      returnTo: safeReturnTo(request.returnTo),
      address: request.address,
      authorizationUrl: (secrets) => provider.authorizationUrl(secrets),
    });
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
    const { pending, sessions, telemetry } = this.#options;
    const provider = this.#provider(request.provider);
    try {
      const { returnTo, secrets } = await pending.take(provider.name, request);
      const person = await provider.signIn(request.query, secrets);
      const { address, userAgent } = request;
      const session = await sessions.create(person, { address, userAgent, returnTo });
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
}

function outcomeOf(error: unknown): 'cancelled' | 'rejected' | 'failed' {
  const code = error instanceof ApiError ? error.code : undefined;
  if (code === 'NOT_APPLICABLE') return 'cancelled';
  return code === 'INVALID_REQUEST' ? 'rejected' : 'failed';
}

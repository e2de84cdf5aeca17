import type { PlatformRights, PlatformRoles, Provider } from '../console/identity.ts';
import type { SignInProvider } from './provider.ts';

/** Reads the rights of persons again from the provider with which they signed in. */
export class ProviderRoles implements PlatformRoles {
  readonly #providers: readonly SignInProvider[];

  constructor(providers: readonly SignInProvider[]) {
    this.#providers = providers;
  }

  /** Returns undefined if the person has withdrawn the access, and if the provider is no longer configured. */
  async read(provider: Provider, credentials: Buffer): Promise<PlatformRights | undefined> {
    return this.#providers.find(({ name }) => name === provider)?.read(credentials);
  }
}

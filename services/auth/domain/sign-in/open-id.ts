import { z } from 'zod';
import type { SignInSecrets } from '#platforms/oauth/client.ts';
import type { OpenIdPerson, OpenIdProvider } from '#platforms/oidc/oidc.ts';
import type { PlatformRights, SignedInPerson } from '../console/identity.ts';
import type { SignInProvider } from './provider.ts';
import { tokensSchema } from './tokens.ts';

const credentialsSchema = z.object({ subject: z.string(), tokens: tokensSchema });

/** Signing in with an OpenID provider, a claim of which names the operators of the installation. */
export class OpenIdSignIn implements SignInProvider {
  readonly name = 'oidc';
  readonly label: string;
  readonly #provider: OpenIdProvider;

  constructor(provider: OpenIdProvider, label: string) {
    this.#provider = provider;
    this.label = label;
  }

  authorizationUrl(secrets: SignInSecrets): Promise<string> {
    return this.#provider.authorizationUrl(secrets);
  }

  async signIn(query: string, secrets: SignInSecrets): Promise<SignedInPerson> {
    const person = await this.#provider.signIn(query, secrets);
    return { id: `oidc:${person.subject}`, name: person.name, provider: 'oidc', ...rightsOf(person) };
  }

  async read(credentials: Buffer): Promise<PlatformRights | undefined> {
    const { subject, tokens } = credentialsSchema.parse(JSON.parse(credentials.toString()));
    const person = await this.#provider.read(subject, tokens);
    return person && rightsOf(person);
  }
}

function rightsOf({ subject, tokens, isOperator }: OpenIdPerson): PlatformRights {
  const credentials = { subject, tokens } satisfies z.output<typeof credentialsSchema>;
  return { guilds: [], isOperator, credentials: Buffer.from(JSON.stringify(credentials)) };
}

import type { SignInSecrets } from '#platforms/oauth/client.ts';
import type { PlatformRights, Provider, SignedInPerson } from '../console/identity.ts';

/** A way to sign in with an account elsewhere. */
export interface SignInProvider {
  readonly name: Exclude<Provider, 'link'>;
  /** What the button on the sign-in page says. */
  readonly label: string;
  /** Returns the address of the provider to which the browser is sent. */
  authorizationUrl(secrets: SignInSecrets): Promise<string>;
  /** Completes a sign-in with the query of the callback. */
  signIn(query: string, secrets: SignInSecrets): Promise<SignedInPerson>;
  /** Reads the rights of a person again; undefined if the person has withdrawn the access. */
  read(credentials: Buffer): Promise<PlatformRights | undefined>;
}

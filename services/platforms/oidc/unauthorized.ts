import { openIdClient } from '../oauth/library.ts';

/** True if the provider rejected an access token with 401, with or without the header WWW-Authenticate. */
export async function isUnauthorized(error: unknown): Promise<boolean> {
  const { WWWAuthenticateChallengeError } = await openIdClient();
  if (error instanceof WWWAuthenticateChallengeError) return error.status === 401;
  return error instanceof Error && error.cause instanceof Response && error.cause.status === 401;
}

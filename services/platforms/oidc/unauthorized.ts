import { WWWAuthenticateChallengeError } from 'openid-client';

/** True if the provider rejected an access token with 401, with or without the header WWW-Authenticate. */
export function isUnauthorized(error: unknown): boolean {
  if (error instanceof WWWAuthenticateChallengeError) return error.status === 401;
  return error instanceof Error && error.cause instanceof Response && error.cause.status === 401;
}

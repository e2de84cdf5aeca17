import { ApiError } from '#kit/errors.ts';
import { openIdClient } from './library.ts';

/** Thrown when a provider rejects a code or a refresh token: it is unknown, used, expired or withdrawn. */
export class GrantRejectedError extends Error {}

/**
 * Converts an error of openid-client. Errors of the HTTP client are passed on; everything that the provider sends and
 * that is not valid becomes PLATFORM_ERROR. No error names a code, a token or a parameter of the callback.
 */
export async function providerError(error: unknown, provider: string): Promise<Error> {
  const cause = causeOfApi(error);
  if (cause) return cause;
  const { AuthorizationResponseError, ResponseBodyError } = await openIdClient();
  if (error instanceof AuthorizationResponseError) return rejection(error.error, provider);
  if (error instanceof ResponseBodyError && error.error === 'invalid_grant') return new GrantRejectedError();
  return new ApiError('PLATFORM_ERROR', { message: `${provider} sent no usable response`, cause: error });
}

/** openid-client wraps the errors of the function that makes its HTTP requests. */
function causeOfApi(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error;
  return error instanceof Error && error.cause instanceof ApiError ? error.cause : undefined;
}

/** The errors with which a provider sends the browser back although nothing is wrong with the configuration. */
const CANCELLED: ReadonlySet<string> = new Set(['access_denied', 'consent_required', 'login_required']);

function rejection(error: string, provider: string): ApiError {
  if (CANCELLED.has(error))
    return new ApiError('NOT_APPLICABLE', { message: `The sign-in at ${provider} was cancelled` });
  if (error === 'temporarily_unavailable') {
    return new ApiError('UNAVAILABLE', { message: `${provider} is not available, try again later` });
  }
  const known = /^[a-z_]{1,50}$/.test(error) ? error : 'an unknown error';
  const cause = new Error(`the authorization endpoint responded with ${known}`);
  return new ApiError('PLATFORM_ERROR', { message: `${provider} rejected the sign-in`, cause });
}

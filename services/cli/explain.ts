import type { ApiError } from '#kit/errors.ts';
import { isServiceError } from '#kit/grpc/errors.ts';
import { DEADLINE_MS } from './deadline.ts';

/** Status codes of gRPC. */
const UNAUTHENTICATED = 16;
const DEADLINE_EXCEEDED = 4;

/** Explains the error of a call to the person who typed the command. */
export function explain(error: ApiError): string {
  const cause = error.cause as { code?: unknown } | undefined;
  if (cause?.code === UNAUTHENTICATED) {
    return 'The service rejected the credential: ADMIN_SECRETS or OPERATOR_CREDENTIAL is not of this installation, or the clocks differ by more than 30 s';
  }
  if (cause?.code === DEADLINE_EXCEEDED) {
    const seconds = DEADLINE_MS / 1000;
    return `The service did not respond within ${seconds} s: is it running? The request may still have been carried out`;
  }
  if (error.code === 'UNAVAILABLE') {
    return isServiceError(error)
      ? 'The service is temporarily unable to do this: its database may be unavailable. Try again soon'
      : 'The service cannot be reached: is it running, and does GUILDCTL_<SERVICE> contain its address?';
  }
  return error.message;
}

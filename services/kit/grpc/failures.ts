import { type ServiceError, status } from '@grpc/grpc-js';
import { ApiError, isServerError } from '../errors.ts';
import { isServiceError } from './errors.ts';

/** The gRPC statuses of a call whose connection was lost, or whose server was forced to stop. */
const LOST: readonly status[] = [status.UNAVAILABLE, status.CANCELLED];

/** True if the called service could not be reached or did not respond; false for an error that the service returned. */
export function isGrpcFailure(error: unknown): boolean {
  return !(error instanceof ApiError) || (isServerError(error) && !isServiceError(error));
}

/** True if a gRPC call got no response from the service. */
export function hasNoResponse({ code }: ServiceError): boolean {
  return LOST.includes(code) || code === status.DEADLINE_EXCEEDED;
}

/** True if the result of a gRPC call is unknown because its connection was lost. */
export function wasLost(error: unknown): boolean {
  if (!(error instanceof ApiError) || isServiceError(error)) return false;
  return LOST.includes((error.cause as Partial<ServiceError> | undefined)?.code as status);
}

/** What gRPC reports of a call that the server refused: of one that it had sent completely, and of one that it was sending. */
const REFUSED = /Stream refused by server|NGHTTP2_REFUSED_STREAM/;

/**
 * True if the server refused a gRPC call without beginning it (RFC 9113, section 8.7), because the call came while the
 * server closed the connection.
 */
export function wasRefused(error: unknown): boolean {
  if (!(error instanceof ApiError) || isServiceError(error)) return false;
  const { code, details } = (error.cause ?? {}) as Partial<ServiceError>;
  return code === status.UNAVAILABLE && REFUSED.test(details ?? '');
}

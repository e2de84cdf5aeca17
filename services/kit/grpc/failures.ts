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

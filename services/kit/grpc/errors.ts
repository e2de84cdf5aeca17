import { Metadata, type ServiceError, type StatusObject, status } from '@grpc/grpc-js';
import { ApiError, ERRORS, type ErrorCode } from '../errors.ts';

const ERROR_TRAILER = 'guild-error-bin';

interface WireError {
  code: ErrorCode;
  message: string;
  details: Record<string, unknown>;
  retryAfter?: number;
}

/**
 * Converts an ApiError to a gRPC status whose trailer holds the error code, message and details, but not the cause.
 * Details that cannot be serialized make it INTERNAL.
 */
export function toStatus(error: ApiError): Partial<StatusObject> {
  const wire: WireError = {
    code: error.code,
    message: error.message,
    details: error.details,
    ...(error.retryAfter === undefined ? {} : { retryAfter: error.retryAfter }),
  };
  const metadata = new Metadata();
  try {
    metadata.set(ERROR_TRAILER, Buffer.from(JSON.stringify(wire)));
  } catch (cause) {
    return toStatus(new ApiError('INTERNAL', { cause }));
  }
  return { code: ERRORS[error.code].grpc, details: error.code, metadata };
}

/** An error that the called service itself returned, as opposed to an error of the connection to the service. */
class RemoteApiError extends ApiError {}

/**
 * True if the called service itself returned this error; false if the service could not be reached or did not respond.
 */
export function isServiceError(error: unknown): boolean {
  return error instanceof RemoteApiError;
}

/**
 * True if the called service rejects every such call of this process, because the two have different keys or versions.
 */
export function isRejectedCall(error: ApiError): boolean {
  const { code } = (error.cause ?? {}) as { code?: unknown };
  return !isServiceError(error) && (code === status.UNAUTHENTICATED || code === status.UNIMPLEMENTED);
}

/**
 * Converts the gRPC status of a failed call to the ApiError that the called service returned. A status without such an
 * error becomes UNAVAILABLE, TIMEOUT or INTERNAL.
 */
export function fromStatus(error: ServiceError | StatusObject): ApiError {
  const thrown = thrownByService(error);
  if (thrown) return thrown;
  switch (error.code) {
    case status.UNAVAILABLE:
    // A gRPC server that is forced to stop cancels the calls in flight.
    case status.CANCELLED:
    case status.RESOURCE_EXHAUSTED:
      return new ApiError('UNAVAILABLE', { cause: error });
    case status.DEADLINE_EXCEEDED:
      return new ApiError('TIMEOUT', { cause: error });
    default:
      // A rejected call token ends up here: this process failed to authenticate, so the client's request is not at
      // fault.
      return new ApiError('INTERNAL', { cause: error });
  }
}

/**
 * Reads the ApiError in the trailer of a gRPC status. Undefined if there is none, or if its code is unknown because the
 * called service is newer.
 */
function thrownByService(error: ServiceError | StatusObject): ApiError | undefined {
  const [trailer] = error.metadata?.get(ERROR_TRAILER) ?? [];
  if (!Buffer.isBuffer(trailer)) return undefined;
  try {
    const { code, ...options } = JSON.parse(trailer.toString()) as WireError;
    return Object.hasOwn(ERRORS, code) ? new RemoteApiError(code, { ...options, cause: error }) : undefined;
  } catch {
    return undefined;
  }
}

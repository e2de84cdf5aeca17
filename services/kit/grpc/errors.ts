import { Metadata, type ServiceError, type StatusObject, status } from '@grpc/grpc-js';
import { ApiError, ERRORS, type ErrorCode } from '../errors.ts';

const ERROR_TRAILER = 'guild-error-bin';

interface WireError {
  code: ErrorCode;
  message: string;
  details: Record<string, unknown>;
  retryAfter?: number;
}

/** An error as a gRPC status; code and details travel in a trailer, the cause stays here. INTERNAL if they can't. */
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

const answers = new WeakSet<ApiError>();

/** Whether a service answered with this error itself, as opposed to not being reached or not answering. */
export function isAnswer(error: unknown): boolean {
  return error instanceof ApiError && answers.has(error);
}

/**
 * Whether the called service accepts no such call from this process at all, whatever it asks: their keys differ, or their
 * versions.
 */
export function isRejectedCall(error: ApiError): boolean {
  const { code } = (error.cause ?? {}) as { code?: unknown };
  return !isAnswer(error) && (code === status.UNAUTHENTICATED || code === status.UNIMPLEMENTED);
}

/** The error that the called service threw; what gRPC itself refused becomes UNAVAILABLE, TIMEOUT or INTERNAL. */
export function fromStatus(error: ServiceError | StatusObject): ApiError {
  const thrown = thrownByService(error);
  if (thrown) return thrown;
  switch (error.code) {
    case status.UNAVAILABLE:
    // A server that is forced to stop cancels what is under way.
    case status.CANCELLED:
    case status.RESOURCE_EXHAUSTED:
      return new ApiError('UNAVAILABLE', { cause: error });
    case status.DEADLINE_EXCEEDED:
      return new ApiError('TIMEOUT', { cause: error });
    default:
      // Refused secrets too: ours to mend, and no refusal of the caller.
      return new ApiError('INTERNAL', { cause: error });
  }
}

/** undefined where there is none, or one of a newer service that this code does not know. */
function thrownByService(error: ServiceError | StatusObject): ApiError | undefined {
  const [trailer] = error.metadata?.get(ERROR_TRAILER) ?? [];
  if (!Buffer.isBuffer(trailer)) return undefined;
  try {
    const { code, ...told } = JSON.parse(trailer.toString()) as WireError;
    if (!Object.hasOwn(ERRORS, code)) return undefined;
    const thrown = new ApiError(code, { ...told, cause: error });
    answers.add(thrown);
    return thrown;
  } catch {
    return undefined;
  }
}

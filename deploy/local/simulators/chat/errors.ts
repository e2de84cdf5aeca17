import type { Answer } from '../routes.ts';
import { Rejection } from '../routes.ts';

const messages: Record<number, string> = {
  401: '401: Unauthorized',
  403: '403: Forbidden',
  404: '404: Not Found',
  405: '405: Method Not Allowed',
  500: '500: Internal Server Error',
  502: '502: Bad Gateway',
  503: '503: Service Unavailable',
  504: '504: Gateway Timeout',
};

/** A generic error of the platform. `retryAfter` is in seconds and may have a fraction. */
export function chatError(status: number, retryAfter?: number, global = false): Answer {
  if (status === 429) {
    const seconds = retryAfter ?? 1;
    const body = { message: 'You are being rate limited.', retry_after: Number(seconds.toFixed(3)), global };
    return { status, headers: { 'retry-after': String(Math.ceil(seconds)) }, body };
  }
  if (status === 400) return { status, body: { message: 'The request body contains invalid JSON.', code: 50109 } };
  return { status, body: { message: messages[status] ?? `${status}: Error`, code: 0 } };
}

/** Throws an error with one of the platform's error codes. */
export function refuse(status: number, code: number, message: string, errors?: object): never {
  throw new Rejection({ status, body: { message, code, ...(errors && { errors }) } });
}

/** Throws a validation error (50035) with the platform's tree of field errors. */
export function refuseField(field: string, code: string, message: string): never {
  refuse(400, 50035, 'Invalid Form Body', { [field]: { _errors: [{ code, message }] } });
}

import type { Answer } from '../routes.ts';
import { Refusal } from '../routes.ts';

const cloudPrefix = '/cloud/v2/';

const cloudCodes: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
};

const gatewayMessages: Record<number, string> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  429: 'Too many requests',
  500: 'InternalServerError',
  503: 'ServiceUnavailable',
};

/** Whether a path belongs to Open Cloud, whose errors have another form than the older hosts'. */
export function isCloud(path: string): boolean {
  return path.startsWith(cloudPrefix);
}

/** An error that no rule of the world explains, in the form of the host that the path belongs to. */
export function gameError(status: number, path: string): Answer {
  const code = cloudCodes[status];
  if (isCloud(path) && code) return { status, body: { code, message: code.toLowerCase().replaceAll('_', ' ') } };
  return gatewayError(status, 0, gatewayMessages[status] ?? 'Error');
}

/** An error as the older hosts and the gateway before Open Cloud write it. */
export function gatewayError(status: number, code: number, message: string): Answer {
  return { status, body: { errors: [{ code, message }] } };
}

/** Refuses a call of one of the older hosts. */
export function refuse(status: number, code: number, message: string): never {
  throw new Refusal(gatewayError(status, code, message));
}

/** Refuses a call of Open Cloud. */
export function refuseCloud(status: 400 | 403 | 404 | 429, message: string, headers?: Record<string, string>): never {
  throw new Refusal({ status, body: { code: cloudCodes[status], message }, ...(headers && { headers }) });
}

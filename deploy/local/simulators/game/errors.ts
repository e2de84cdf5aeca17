import type { Answer } from '../routes.ts';
import { Rejection } from '../routes.ts';

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

/** True for paths of Open Cloud, whose errors have a different format than those of the older hosts. */
export function isCloud(path: string): boolean {
  return path.startsWith(cloudPrefix);
}

/** A generic error in the format of the path's host. */
export function gameError(status: number, path: string): Answer {
  const code = cloudCodes[status];
  if (isCloud(path) && code) return { status, body: { code, message: code.toLowerCase().replaceAll('_', ' ') } };
  return gatewayError(status, 0, gatewayMessages[status] ?? 'Error');
}

/** An error in the format of the older hosts and of the proxy in front of Open Cloud. */
export function gatewayError(status: number, code: number, message: string): Answer {
  return { status, body: { errors: [{ code, message }] } };
}

/** Throws an error in the older hosts' format. */
export function refuse(status: number, code: number, message: string): never {
  throw new Rejection(gatewayError(status, code, message));
}

/** Throws an error in Open Cloud's format. */
export function refuseCloud(status: 400 | 403 | 404 | 429, message: string, headers?: Record<string, string>): never {
  throw new Rejection({ status, body: { code: cloudCodes[status], message }, ...(headers && { headers }) });
}

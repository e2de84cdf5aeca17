import type { Route } from '#proto/rest/route.ts';
import { SERVER_ERRORS_FROM } from '../../errors.ts';
import { redactKeys } from '../../security/redact.ts';
import type { SpanDescription } from './span.ts';

export interface HandledRequest {
  method: string;
  /** The name of the route; `none` without one. */
  route: string;
  /** The path of the route with the names of its parameters. */
  template: string | undefined;
  /** The status of the response. */
  code: number;
  requestId: string;
}

/** Describes an HTTP request in a trace by its route. The path, query, addresses, users and keys are left out. */
export function describeRequest({ method, route, template, code, requestId }: HandledRequest): SpanDescription {
  const attributes = {
    'http.request.method': method,
    'http.response.status_code': code,
    ...(template !== undefined && { 'http.route': template }),
    'guild_data.route': route,
    // The client chooses the request ID.
    'guild_data.request_id': redactKeys(requestId),
  };
  return { name: `${method} ${template ?? route}`, attributes };
}

/** Describes the forwarding of a request to a service. `code` is the status of the service's response, if it sent one. */
export function describeForwarding({ method, service }: Route, code?: number): SpanDescription {
  const attributes = {
    'http.request.method': method,
    'peer.service': service,
    ...(code !== undefined && { 'http.response.status_code': code }),
  };
  return { name: `${method} ${service}`, attributes };
}

/** Returns the error code of a span for the status of its response; undefined below 500 and without a response. */
export function httpError(status: number | undefined): string | undefined {
  return status !== undefined && status >= SERVER_ERRORS_FROM ? String(status) : undefined;
}

import type { Counter } from 'prom-client';
import type { Route } from '#proto/rest/route.ts';
import { SERVER_ERRORS } from '../errors.ts';
import { countFromZero, type Metrics } from '../telemetry/metrics.ts';

/**
 * Creates the counter of HTTP requests. It starts with 0 for successes and for the errors that alerts are about. A
 * request without a valid principal is rejected before its route is known.
 */
export function createRequestCounter(metrics: Metrics, routes: readonly Route[]): Counter<'route' | 'method' | 'code'> {
  const help = 'HTTP requests completed, by route, method and status';
  const requests = metrics.counter('http_requests_total', help, ['route', 'method', 'code']);
  const methods = new Set(routes.map(({ method }) => method));
  countFromZero(
    requests,
    [...methods].map((method) => ({ route: 'none', method, code: 401 })),
  );
  for (const { name: route, method, status } of routes) {
    countFromZero(
      requests,
      [status, ...SERVER_ERRORS].map((code) => ({ route, method, code })),
    );
  }
  return requests;
}

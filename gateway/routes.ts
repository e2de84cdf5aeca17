import { ROUTES } from '#proto/rest/index.ts';
import type { Route } from '#proto/rest/route.ts';
import type { GatewayConfig } from './config.ts';

/** Returns the route table adapted to the operator's configuration: changing role bindings may require a scope. */
export function routesFor({ BINDINGS_WRITE_SCOPE: scope }: Pick<GatewayConfig, 'BINDINGS_WRITE_SCOPE'>): Route[] {
  return ROUTES.map((route) => {
    const changesBindings = route.service === 'bindings' && route.writes;
    return changesBindings && scope !== undefined ? { ...route, scope } : route;
  });
}

import type { Route } from '#proto/rest/route.ts';

/** Returns the name of a route's operation in the OpenAPI document. */
export const operationIdOf = ({ operationId, name }: Route): string => operationId ?? name;

/** Returns the prefix of the schema names of a route, such as `AddBinding`. */
export function schemaPrefix(route: Route): string {
  const name = operationIdOf(route);
  return name.charAt(0).toUpperCase() + name.slice(1);
}

import type { Route } from '#proto/rest/route.ts';

/** Returns the name of a route's operation in the OpenAPI document. */
export const operationIdOf = ({ operationId, name }: Route): string => operationId ?? name;

/** Returns the names that the schemas of the body and of the `data` of an operation get, such as `AddBindingRequest`. */
export function schemaNames(operationId: string): [body: string, data: string] {
  const prefix = operationId.charAt(0).toUpperCase() + operationId.slice(1);
  return [`${prefix}Request`, `${prefix}Result`];
}

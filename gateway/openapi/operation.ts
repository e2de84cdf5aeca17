import type { Route } from '#proto/rest/route.ts';
import { type Components, type JsonSchema, type Operation, resolveRef } from './document.ts';
import { exampleOf } from './examples.ts';
import { toNamedSchema } from './json-schema.ts';
import { operationIdOf, schemaNames } from './operation-id.ts';
import { parametersOf } from './parameters.ts';
import { responsesOf } from './responses.ts';

/** Converts a row of the route table to an OpenAPI operation. Adds shared parts to `components`. */
export function operationOf(route: Route, components: Components): Operation {
  const parameters = parametersOf(route, components);
  return {
    operationId: operationIdOf(route),
    summary: route.summary,
    description: descriptionOf(route),
    tags: [route.service],
    ...(route.deprecated && { deprecated: true }),
    ...(route.scope && { 'x-required-scope': route.scope }),
    ...(route.category && { 'x-rate-limit': route.category }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && { requestBody: requestBodyOf(route, route.body, components) }),
    responses: responsesOf(route, components),
  };
}

function descriptionOf(route: Route): string {
  return [route.description, deprecationOf(route)].filter(Boolean).join('\n\n') || `${route.summary}.`;
}

function deprecationOf({ deprecated }: Route): string | undefined {
  if (!deprecated) return undefined;
  const { since, sunset, replacement } = deprecated;
  return `Deprecated since ${since}, will be removed after ${sunset}. Use \`${replacement}\` instead.`;
}

function requestBodyOf(
  route: Route,
  body: NonNullable<Route['body']>,
  components: Components,
): Operation['requestBody'] {
  const schema = toNamedSchema(body, 'input', components.schemas, schemaNames(operationIdOf(route))[0]);
  const { required = [], oneOf } = resolveRef<JsonSchema>(components, schema);
  return {
    required: required.length > 0 || oneOf !== undefined,
    content: { 'application/json': { schema, example: exampleOf(schema, components) } },
  };
}

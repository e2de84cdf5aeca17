import { CATEGORIES, WINDOW_SECONDS } from '#proto/rest/limits.ts';
import type { Route } from '#proto/rest/route.ts';
import type { Components, Operation, RateLimit } from './document.ts';
import { exampleOf } from './examples.ts';
import { toJsonSchema } from './json-schema.ts';
import { parametersOf } from './parameters.ts';
import { responsesOf } from './responses.ts';

/** Converts a row of the route table to an OpenAPI operation. Adds shared parts to `components`. */
export function operationOf(route: Route, components: Components): Operation {
  const limit = rateLimitOf(route);
  return {
    operationId: route.name,
    summary: route.summary,
    description: descriptionOf(route, limit),
    tags: [route.service],
    ...(route.deprecated && { deprecated: true }),
    ...(route.scope && { 'x-required-scope': route.scope }),
    ...(limit && { 'x-rate-limit': limit }),
    parameters: parametersOf(route, components),
    ...(route.body && { requestBody: requestBodyOf(route.body, components) }),
    responses: responsesOf(route, components),
  };
}

function rateLimitOf({ category }: Route): RateLimit | undefined {
  if (category === null) return undefined;
  const { limit, per } = CATEGORIES[category];
  return { category, limit, window: WINDOW_SECONDS, subject: per };
}

function descriptionOf(route: Route, limit: RateLimit | undefined): string {
  const scope = route.scope ? `Scope: \`${route.scope}\`.` : 'Any valid key.';
  const counted = limit
    ? `Limit: ${limit.limit} requests per ${limit.window} s per ${limit.subject} (\`${limit.category}\`).`
    : "No limit except the key's own.";
  return [route.description, deprecationOf(route), `${scope} ${counted}`].filter(Boolean).join('\n\n');
}

function deprecationOf({ deprecated }: Route): string | undefined {
  if (!deprecated) return undefined;
  const { since, sunset, replacement } = deprecated;
  return `Deprecated since ${since}, will be removed after ${sunset}. Use \`${replacement}\` instead.`;
}

function requestBodyOf(body: NonNullable<Route['body']>, components: Components): Operation['requestBody'] {
  const schema = toJsonSchema(body, 'input', components.schemas);
  return {
    required: (schema.required ?? []).length > 0 || schema.oneOf !== undefined,
    content: { 'application/json': { schema, example: exampleOf(schema, components) } },
  };
}

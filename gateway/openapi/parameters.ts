import type { z } from 'zod';
import type { Route } from '#proto/rest/route.ts';
import { guildId } from '#proto/rest/schemas.ts';
import { type Components, componentRef, type Parameter, type Ref, resolveRef } from './document.ts';
import { exampleOf } from './examples.ts';
import { toJsonSchema } from './json-schema.ts';

/** The request headers that many routes accept, as OpenAPI parameters. */
export const SHARED_PARAMETERS = {
  GuildId: {
    name: 'X-Guild-ID',
    in: 'header',
    required: true,
    description: 'Guild ID; must be the guild of the API key',
    schema: toJsonSchema(guildId, 'input', {}),
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes the write safe to retry: for 24 hours a request with the same key gets the first response again',
    schema: { type: 'string', minLength: 1, maxLength: 128, examples: ['2f1c9a3e-6f0b-4c86-9f0a-0c8b7f3f5d11'] },
  },
  LastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    description: 'The `id` of the last received event; takes precedence over `after`',
    schema: { type: 'integer', minimum: 0, examples: [4710] },
  },
} satisfies Record<string, Parameter>;

const shared = (name: keyof typeof SHARED_PARAMETERS) => componentRef('parameters', name);

/** Returns the path, query and header parameters of a route for the OpenAPI document. */
export function parametersOf(route: Route, components: Components): (Parameter | Ref)[] {
  return [
    ...parametersIn('path', route.params, components),
    ...parametersIn('query', route.query, components),
    ...guildParameter(route),
    ...(route.writes ? [shared('IdempotencyKey')] : []),
    ...(route.eventStream ? [shared('LastEventId')] : []),
  ];
}

/**
 * Returns the header with the guild ID if it is required. Where it is optional, because the key names the guild, the rules
 * in the description of the document say what it means.
 */
const guildParameter = ({ guild }: Route): Ref[] => (guild === 'header' ? [shared('GuildId')] : []);

function parametersIn(place: 'path' | 'query', schema: z.ZodObject | undefined, components: Components): Parameter[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = toJsonSchema(schema, 'input', components.schemas);
  return Object.entries(properties).map(([name, property]) => {
    const { description = '' } = { ...resolveRef(components, property), ...property };
    const { description: _, examples: __, ...schema } = property;
    const isRequired = place === 'path' || required.includes(name);
    const example = exampleOf(property, components);
    return { name, in: place, ...(isRequired && { required: true }), description, schema, example };
  });
}

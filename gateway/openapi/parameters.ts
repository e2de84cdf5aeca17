import type { z } from 'zod';
import type { Route } from '#proto/rest/route.ts';
import { guildId } from '#proto/rest/schemas.ts';
import { type Components, componentRef, type Parameter, type Ref } from './document.ts';
import { exampleOf } from './examples.ts';
import { toJsonSchema } from './json-schema.ts';

const guildHeader = (required: boolean, description: string): Parameter => ({
  name: 'X-Guild-ID',
  in: 'header',
  required,
  description,
  schema: toJsonSchema(guildId, 'input', {}),
});

/** Request headers that many routes take. */
export const SHARED_PARAMETERS = {
  GuildId: guildHeader(true, "The guild: must be the key's own"),
  OptionalGuildId: guildHeader(false, "Where given, must be the key's own guild"),
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: 'Makes the write safe to repeat: for 24 hours the same key is given the first answer again',
    schema: { type: 'string', minLength: 1, maxLength: 128, examples: ['2f1c9a3e-6f0b-4c86-9f0a-0c8b7f3f5d11'] },
  },
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    required: false,
    description: 'Your own name for the request, given back and written to our logs',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,128}$' },
  },
} satisfies Record<string, Parameter>;

const shared = (name: keyof typeof SHARED_PARAMETERS) => componentRef('parameters', name);

/** What a route takes beside its body: path, query, headers. */
export function parametersOf(route: Route, components: Components): (Parameter | Ref)[] {
  return [
    ...parametersIn('path', route.params, components),
    ...parametersIn('query', route.query, components),
    shared(route.guild === 'header' ? 'GuildId' : 'OptionalGuildId'),
    ...(route.writes ? [shared('IdempotencyKey')] : []),
    shared('RequestId'),
  ];
}

function parametersIn(place: 'path' | 'query', schema: z.ZodObject | undefined, components: Components): Parameter[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = toJsonSchema(schema, 'input', components.schemas);
  return Object.entries(properties).map(([name, { description = '', ...property }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    description,
    schema: property,
    example: exampleOf(property, components),
  }));
}

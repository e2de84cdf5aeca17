import { z } from 'zod';
import { oneOfFields } from '#proto/rest/alternatives.ts';
import { toBranches } from './alternatives.ts';
import { componentRef, type JsonSchema } from './document.ts';

/** Where a schema is used. `input`: in requests, before defaults and transforms. `output`: in responses. */
export type Direction = 'input' | 'output';

/**
 * Converts a zod schema to JSON Schema, draft 2020-12. Parts with an `id` in their metadata are added to `shared` and
 * referenced by that name. Throws if two different schemas have the same `id`, which also happens if a schema differs
 * between requests and responses.
 */
export function toJsonSchema(schema: z.ZodType, io: Direction, shared: Record<string, JsonSchema>): JsonSchema {
  return simplify(generate(schema, io, shared));
}

function generate(schema: z.ZodType, io: Direction, shared: Record<string, JsonSchema>): JsonSchema {
  const override = (found: Found) => {
    addRulesOfChecks(found);
    addNestedSchemas(found, io, shared);
  };
  const { $schema: _, $defs = {}, ...generated } = z.toJSONSchema(schema, { io, override });
  for (const [id, definition] of Object.entries($defs)) share(shared, id, simplify(definition as JsonSchema));
  return generated as JsonSchema;
}

/** Like `toJsonSchema`, but a schema without an `id` is shared too, by `name`. */
export function toNamedSchema(
  schema: z.ZodType,
  io: Direction,
  shared: Record<string, JsonSchema>,
  name: string,
): JsonSchema {
  const converted = toJsonSchema(schema, io, shared);
  if (converted.$ref) return converted;
  share(shared, name, converted);
  return componentRef('schemas', name);
}

function share(shared: Record<string, JsonSchema>, id: string, definition: JsonSchema): void {
  const known = shared[id];
  if (known && JSON.stringify(known) !== JSON.stringify(definition)) {
    throw new Error(
      `the schema ID ${id} is used for two different schemas, or its schema differs between requests and responses`,
    );
  }
  shared[id] = definition;
}

/** A zod schema together with the JSON schema that zod generated from it. */
interface Found {
  zodSchema: z.core.$ZodTypes;
  jsonSchema: { items?: unknown; allOf?: unknown[] };
}

/**
 * Converts the zod schemas that metadata holds: of the items of a `listOf`, because zod cannot describe a transform, and
 * of the variants of an object, because zod cannot describe a check.
 */
function addNestedSchemas({ jsonSchema }: Found, io: Direction, shared: Record<string, JsonSchema>): void {
  const converted = (schema: unknown) => (schema instanceof z.ZodType ? generate(schema, io, shared) : schema);
  if (jsonSchema.items) jsonSchema.items = converted(jsonSchema.items);
  if (jsonSchema.allOf) jsonSchema.allOf = jsonSchema.allOf.map(converted);
}

/** Adds the rules of `exactlyOneOf` to the JSON schema. In zod they are functions, which zod cannot describe. */
function addRulesOfChecks({ zodSchema, jsonSchema }: Found): void {
  for (const check of zodSchema._zod.def.checks ?? []) {
    const { params } = check._zod.def as { params?: { exactlyOneOf?: string[] } };
    if (!params?.exactlyOneOf) continue;
    Object.assign(jsonSchema, { alternatives: oneOfFields(params.exactlyOneOf) });
  }
}

/** Simplifies a generated JSON schema and all its parts without changing their meaning. */
function simplify({ example, ...generated }: JsonSchema & { example?: unknown }): JsonSchema {
  const schema = withoutRedundancy(withSimplifiedParts(generated));
  if (schema.$ref) schema.$ref = componentRef('schemas', schema.$ref.replace('#/$defs/', '')).$ref;
  if (example !== undefined) schema.examples = [example];
  // A type in the schema's metadata is more exact than the `anyOf` that zod derives.
  if (schema.type !== undefined) delete schema.anyOf;
  return toBranches(mergeNull(schema));
}

function withSimplifiedParts(schema: JsonSchema): JsonSchema {
  const { properties, items, additionalProperties, anyOf, oneOf, allOf } = schema;
  return {
    ...schema,
    ...(properties && { properties: mapValues(properties, simplify) }),
    ...(items && { items: simplify(items) }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: simplify(additionalProperties) }),
    ...(anyOf && { anyOf: anyOf.map(simplify) }),
    ...(oneOf && { oneOf: oneOf.map(simplify) }),
    ...(allOf && { allOf: allOf.map(simplify) }),
  };
}

function withoutRedundancy(schema: JsonSchema): JsonSchema {
  // Later versions of the API may add fields to responses, so the schema must not exclude further fields.
  if (schema.additionalProperties === false) delete schema.additionalProperties;
  if (JSON.stringify(schema.propertyNames) === '{"type":"string"}') delete schema.propertyNames;
  // The values say it already. Null among the types of an enum is no redundancy, so only a single type is left out.
  if (schema.type === 'string' && schema.enum) delete schema.type;
  if (schema.type === typeof schema.const) delete schema.type;
  if (schema.minLength === 0) delete schema.minLength;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER && schema.type === 'integer') delete schema.maximum;
  return schema;
}

/**
 * Replaces `anyOf: [X, null]` in a JSON schema by X with the additional type null. Keywords next to `anyOf` take
 * precedence.
 */
function mergeNull(schema: JsonSchema): JsonSchema {
  const { anyOf = [], ...outside } = schema;
  const [inside, other] = anyOf;
  if (anyOf.length !== 2 || !inside?.type || inside.enum || 'const' in inside || other?.type !== 'null') return schema;
  return { ...inside, ...outside, type: [inside.type, 'null'].flat() };
}

function mapValues<From, To>(record: Record<string, From>, change: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

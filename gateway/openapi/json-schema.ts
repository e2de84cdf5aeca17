import { z } from 'zod';
import { componentRef, type JsonSchema } from './document.ts';

/** Whether a schema describes what is sent (before defaults and transforms) or what is answered. */
export type Direction = 'input' | 'output';

/**
 * A zod schema as JSON Schema, draft 2020-12. Parts that have an `id` in their metadata go to `shared`, once, and are
 * referred to; one that reads differently in requests and answers is an error, since one name can't be both.
 */
export function toJsonSchema(schema: z.ZodType, io: Direction, shared: Record<string, JsonSchema>): JsonSchema {
  const override = (found: Found) => {
    addRulesOfChecks(found);
    addItems(found, io);
  };
  const { $schema: _, $defs = {}, ...generated } = z.toJSONSchema(schema, { io, override });
  for (const [id, definition] of Object.entries($defs)) share(shared, id, tidy(definition as JsonSchema));
  return tidy(generated as JsonSchema);
}

function share(shared: Record<string, JsonSchema>, id: string, definition: JsonSchema): void {
  const known = shared[id];
  if (known && JSON.stringify(known) !== JSON.stringify(definition)) {
    throw new Error(`two schemas are called ${id}, or it reads differently in requests and answers`);
  }
  shared[id] = definition;
}

/** A part of a schema, and the JSON Schema that zod generated for it. */
interface Found {
  zodSchema: z.core.$ZodTypes;
  jsonSchema: { items?: unknown };
}

/** The items of `listOf` are a zod schema in its metadata, because zod cannot describe a transform. */
function addItems({ jsonSchema }: Found, io: Direction): void {
  if (!(jsonSchema.items instanceof z.ZodType)) return;
  const { $schema: _, ...items } = z.toJSONSchema(jsonSchema.items, { io, override: addRulesOfChecks });
  jsonSchema.items = items;
}

/** Adds to an object's schema the rules that are functions in zod. */
function addRulesOfChecks({ zodSchema, jsonSchema }: Found): void {
  for (const check of zodSchema._zod.def.checks ?? []) {
    const { params } = check._zod.def as { params?: { exactlyOneOf?: string[] } };
    if (!params?.exactlyOneOf) continue;
    Object.assign(jsonSchema, { oneOf: params.exactlyOneOf.map((field) => ({ required: [field] })) });
  }
}

/** Puts a generated schema into the shortest form that says the same, here and in all that it holds. */
function tidy({ example, ...generated }: JsonSchema & { example?: unknown }): JsonSchema {
  const schema = withoutNoise(withTidyParts(generated));
  if (schema.$ref) schema.$ref = componentRef('schemas', schema.$ref.replace('#/$defs/', '')).$ref;
  if (example !== undefined) schema.examples = [example];
  // A type in the metadata is more exact than the alternatives that zod derives.
  if (schema.type !== undefined) delete schema.anyOf;
  return mergeNull(withoutNullChoices(schema));
}

function withTidyParts(schema: JsonSchema): JsonSchema {
  const { properties, items, additionalProperties, anyOf, oneOf, allOf } = schema;
  return {
    ...schema,
    ...(properties && { properties: mapValues(properties, tidy) }),
    ...(items && { items: tidy(items) }),
    ...(typeof additionalProperties === 'object' && { additionalProperties: tidy(additionalProperties) }),
    ...(anyOf && { anyOf: anyOf.map(tidy) }),
    ...(oneOf && { oneOf: oneOf.map(tidy) }),
    ...(allOf && { allOf: allOf.map(tidy) }),
  };
}

function withoutNoise(schema: JsonSchema): JsonSchema {
  // Answers may gain fields, so no caller may be told that there are no others.
  if (schema.additionalProperties === false) delete schema.additionalProperties;
  if (JSON.stringify(schema.propertyNames) === '{"type":"string"}') delete schema.propertyNames;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER && schema.type === 'integer') delete schema.maximum;
  return schema;
}

/** `anyOf: [X, null]` as X with one type more. What is said outside X wins. */
function mergeNull(schema: JsonSchema): JsonSchema {
  const { anyOf = [], ...outside } = schema;
  const [inside, other] = anyOf;
  if (anyOf.length !== 2 || !inside?.type || inside.enum || 'const' in inside || other?.type !== 'null') return schema;
  return { ...inside, ...outside, type: [inside.type, 'null'].flat() };
}

/** Of fields of which exactly one must be there, null would read as not being there. */
function withoutNullChoices(schema: JsonSchema): JsonSchema {
  for (const name of (schema.oneOf ?? []).flatMap((choice) => choice.required ?? [])) {
    const property = schema.properties?.[name];
    if (!Array.isArray(property?.type)) continue;
    const types = property.type.filter((type) => type !== 'null');
    property.type = types.length === 1 ? types[0] : types;
  }
  return schema;
}

function mapValues<From, To>(record: Record<string, From>, change: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

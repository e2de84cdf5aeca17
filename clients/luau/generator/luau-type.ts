import { z } from 'zod';

/** The parts of JSON Schema that the requests of the route table use. */
interface JsonSchema {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
}

/** One argument of an operation. */
export interface Argument {
  name: string;
  /** Its type in Luau, without the `?` of an argument that may be left out. */
  type: string;
  isRequired: boolean;
  description: string;
}

/** Returns the fields of a request as arguments, in the order of the route table. */
export function argumentsOf(schema: z.ZodObject): Argument[] {
  return Object.entries(schema.shape).map(([name, field]) => {
    const json = toJsonSchema(field as z.ZodType);
    return {
      name,
      type: luauType(json, json.$defs ?? {}),
      isRequired: !(field as z.ZodType).safeParse(undefined).success,
      description: descriptionOf(json, json.$defs ?? {}),
    };
  });
}

/** Returns the description of an argument; for a list of objects with their fields. */
function descriptionOf(schema: JsonSchema, definitions: Record<string, JsonSchema>): string {
  const { description, anyOf = [], ...own } = resolve(schema, definitions);
  const { items } = anyOf.map((choice) => resolve(choice, definitions)).find(({ type }) => type === 'array') ?? own;
  const { properties, required = [] } = items ? resolve(items, definitions) : {};
  const fields = properties && `Each item: ${tableType(properties, required, definitions)}`;
  return [description, fields].filter(Boolean).join('. ');
}

/** Like zod's own conversion, also for the items of a `listOf`, which are in its metadata. */
function toJsonSchema(schema: z.ZodType): JsonSchema {
  const override = ({ jsonSchema }: { jsonSchema: { items?: unknown } }) => {
    if (jsonSchema.items instanceof z.ZodType) jsonSchema.items = inlined(jsonSchema.items);
  };
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', override }) as JsonSchema;
}

function inlined(schema: z.ZodType): JsonSchema {
  const { $defs = {}, ...json } = toJsonSchema(schema);
  return withoutRefs(json, $defs);
}

function withoutRefs(schema: JsonSchema, definitions: Record<string, JsonSchema>): JsonSchema {
  const { properties, ...rest } = resolve(schema, definitions);
  if (!properties) return rest;
  const entries = Object.entries(properties).map(([name, value]) => [name, withoutRefs(value, definitions)] as const);
  return { ...rest, properties: Object.fromEntries(entries) };
}

/** Returns the schema that a reference names, with what stands next to the reference. */
function resolve({ $ref, ...schema }: JsonSchema, definitions: Record<string, JsonSchema>): JsonSchema {
  if ($ref === undefined) return schema;
  return { ...definitions[$ref.replace('#/$defs/', '')], ...schema };
}

const TYPES: Record<string, string> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
};

/** Converts the schema of a value to the Luau type of what a game passes. null counts as omitted. */
function luauType(schema: JsonSchema, definitions: Record<string, JsonSchema>): string {
  const { type, enum: values, const: value, anyOf, oneOf, items, properties, required } = resolve(schema, definitions);
  // In a query, true and false are words.
  if (values?.toSorted().join() === 'false,true') return 'boolean';
  if (values) return union(values.map((each) => JSON.stringify(each)));
  if (value !== undefined) return JSON.stringify(value);
  const choices = type === undefined ? (anyOf ?? oneOf) : undefined;
  if (choices)
    return union(choices.filter((choice) => choice.type !== 'null').map((each) => luauType(each, definitions)));
  const names = [type ?? []].flat().filter((name) => name !== 'null');
  return union(
    names.map((name) => {
      if (name === 'array') return listType(luauType(items ?? {}, definitions));
      if (name === 'object') return tableType(properties, required ?? [], definitions);
      return TYPES[name] ?? 'any';
    }),
  );
}

/**
 * Luau accepts a list only if the type of its items is exactly the same, so that a list of numbers is no list of numbers
 * and strings, and a table without an optional field is another type. The description then has the fields.
 */
function listType(item: string): string {
  if (item.startsWith('{')) return '{ any }';
  const alternatives = item.split(' | ');
  if (alternatives.length === 1 || item.includes('"')) return `{ ${item} }`;
  return union([`{ ${item} }`, ...alternatives.map((each) => `{ ${each} }`)]);
}

function tableType(
  properties: Record<string, JsonSchema> | undefined,
  required: readonly string[],
  definitions: Record<string, JsonSchema>,
): string {
  if (!properties || Object.keys(properties).length === 0) return '{ [string]: any }';
  const fields = Object.entries(properties).map(([name, schema]) => {
    return `${name}: ${optionalIf(!required.includes(name), luauType(schema, definitions))}`;
  });
  return `{ ${fields.join(', ')} }`;
}

const union = (types: readonly string[]) => [...new Set(types)].join(' | ') || 'any';

/** Adds `?` to the type of a field that may be left out. */
export function optionalIf(isOptional: boolean, type: string): string {
  if (!isOptional || type === 'any') return type;
  return type.includes(' | ') ? `(${type})?` : `${type}?`;
}

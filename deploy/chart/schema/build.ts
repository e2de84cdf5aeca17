import { z } from 'zod';

export type JsonSchema = { [keyword: string]: unknown };

/** Metadata of the schemas of values: `id` makes a schema a definition; everything else is copied into its JSON Schema. */
const registry = z.registry<JsonSchema & { id?: string }>();

/** An object with these fields and no others. Every field may be left out, because Helm adds the defaults. */
export const group = (fields: z.ZodRawShape) => z.strictObject(fields).partial();

/** Names a schema, so that the JSON Schema has it once and refers to it. It may get keywords that zod cannot express. */
export function named<Schema extends z.ZodType>(id: string, schema: Schema, keywords: JsonSchema = {}): Schema {
  registry.add(schema, { ...keywords, id });
  return schema;
}

/** A schema that is written in JSON Schema. */
export const json = (schema: JsonSchema, id?: string) =>
  z.any().register(registry, id === undefined ? schema : { ...schema, id });

/** A value that may be empty, which means that it is not set. */
export const orEmpty = (schema: z.ZodType) => z.union([z.literal(''), schema]);

/** The JSON Schema of an object of values. Helm reads draft 7. */
export function toJsonSchema(values: z.ZodType): JsonSchema {
  const { $schema, ...written } = z.toJSONSchema(values, {
    target: 'draft-07',
    io: 'input',
    metadata: registry,
    // The name is in the reference; `id` is no keyword of draft 7.
    override: ({ jsonSchema }) => void delete (jsonSchema as JsonSchema)['id'],
  });
  return { $schema, ...(withPlainReferences(written) as JsonSchema) };
}

/** Replaces lists of one reference, which zod writes for optional fields, by the reference. */
function withPlainReferences(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withPlainReferences);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([name, inner]) => [name, withPlainReferences(inner)] as const);
  const [[name, all] = [], ...others] = entries;
  const isReference = name === 'allOf' && Array.isArray(all) && all.length === 1 && others.length === 0;
  return isReference ? all[0] : Object.fromEntries(entries);
}

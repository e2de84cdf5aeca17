import type { z } from 'zod';
import { gameUsername } from '#proto/rest/activity/shapes.ts';
import { gameIdOut, numberId, optional, uuidOut } from '#proto/rest/schemas.ts';
import { componentRef, type JsonSchema } from './document.ts';
import { toJsonSchema } from './json-schema.ts';
import { partsOf } from './schema-parts.ts';

/** Simple schemas that many fields have, by the name that they get in the document. */
const SCALARS: Record<string, z.ZodType> = {
  GameId: gameIdOut,
  GameUsernameInput: optional(gameUsername),
  NumericId: numberId('an ID').meta({ description: 'A positive integer, or a string of its digits' }),
  NumericIdOrNull: optional(numberId('an ID')),
  Uuid: uuidOut.meta({ description: 'UUID' }),
};

/** Keywords that a field may have next to the reference, because they concern the field and not its type. */
const BESIDE = ['description', 'examples'] as const;

/** Replaces the fields that have one of these schemas, or null, by references to it. Adds the schemas that are used. */
export function shareScalars(schemas: Record<string, JsonSchema>, others: readonly JsonSchema[]): void {
  const scalars = Object.entries(SCALARS).map(([name, schema]): [string, JsonSchema] => [
    name,
    toJsonSchema(schema, 'input', {}),
  ]);
  const visit = (schema: JsonSchema): void => {
    for (const part of partsOf(schema)) visit(part);
    const found = scalars.find(
      ([name, scalar]) =>
        typeKey(scalar) === typeKey(schema) && (name !== 'GameId' || schema.description === scalar.description),
    );
    if (!found) return;
    const [name, scalar] = found;
    schemas[name] ??= scalar;
    const { description, examples } = schema;
    for (const key of Object.keys(schema)) delete schema[key as keyof JsonSchema];
    Object.assign(schema, componentRef('schemas', name));
    if (description !== undefined && description !== scalar.description) schema.description = description;
    if (examples !== undefined && JSON.stringify(examples) !== JSON.stringify(scalar.examples)) {
      schema.examples = examples;
    }
  };
  const named = new Set(Object.keys(SCALARS));
  for (const [name, schema] of Object.entries(schemas)) if (!named.has(name) && schema.properties) visit(schema);
  for (const schema of others) visit(schema);
}

/** A schema that is combined with null at least this often gets a name for that. */
const MIN_USES = 3;

/** Replaces the choices between a named schema and null that many fields have by references to a schema of their own. */
export function shareNullables(schemas: Record<string, JsonSchema>): void {
  const uses = Map.groupBy(
    Object.values(schemas)
      .flatMap(fieldsIn)
      .filter((schema) => nullableName(schema) !== undefined),
    nullableName,
  );
  for (const [name = '', fields] of uses) {
    if (fields.length < MIN_USES) continue;
    schemas[`${name}OrNull`] = { anyOf: fields[0]?.anyOf ?? [] };
    for (const field of fields) {
      delete field.anyOf;
      Object.assign(field, componentRef('schemas', `${name}OrNull`));
    }
  }
}

/** Returns all schemas within a schema. */
const fieldsIn = (schema: JsonSchema): JsonSchema[] => partsOf(schema).flatMap((part) => [part, ...fieldsIn(part)]);

/** Returns the name of the schema that may also be null; undefined if it is anything else. */
function nullableName({ anyOf: [named, other, ...others] = [] }: JsonSchema): string | undefined {
  const isChoice = others.length === 0 && other?.type === 'null' && Object.keys(named ?? {}).join() === '$ref';
  return isChoice ? named?.$ref?.split('/').at(-1) : undefined;
}

/** The keywords that decide which values a schema accepts, as text. */
function typeKey(schema: JsonSchema): string {
  const entries = Object.entries(schema).filter(([key]) => !BESIDE.some((other) => other === key));
  return JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

import type { Alternative } from '#proto/rest/alternatives.ts';
import { componentRef, type JsonSchema } from './document.ts';

/** A generated schema of an object with the alternatives in its metadata. */
export type WithAlternatives = JsonSchema & { alternatives?: readonly Alternative[] };

/** Replaces the alternatives of an object schema by branches, each with its own fields. */
export function toBranches({ alternatives, ...schema }: WithAlternatives): JsonSchema {
  // A schema with a $ref does not need the alternatives: the schema that it refers to has them.
  if (!alternatives || schema.$ref) return schema;
  const { properties = {}, required = [] } = schema;
  const inBranches = new Set(alternatives.flatMap(namesIn));
  const isCommon = (name: string) => !inBranches.has(name);
  const { oneOf, allOf } = asKeyword(withoutRepeats(alternatives.map((each) => branchOf(each, properties))));
  return {
    ...schema,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => isCommon(name))),
    required: required.filter(isCommon),
    ...(oneOf && { oneOf }),
    ...(allOf && { allOf: [...allOf, ...(schema.allOf ?? [])] }),
  };
}

/**
 * Linters read `oneOf` as overlapping if a branch requires no field, or if two branches exclude the same field, and
 * generators combine fields with `allOf` only.
 */
function asKeyword(branches: JsonSchema[]): JsonSchema {
  const excluded = branches.flatMap(({ properties = {} }) =>
    Object.keys(properties).filter((name) => properties[name]?.type === 'null'),
  );
  const isClear = branches.every(({ required }) => required) && new Set(excluded).size === excluded.length;
  return isClear ? { oneOf: branches } : { allOf: [{ anyOf: branches }] };
}

/**
 * Replaces `oneOf` where a branch excludes a field that is an enum in another one: linters do not see that null is none of
 * its values.
 */
export function separateEnums(schemas: Record<string, JsonSchema>): void {
  for (const schema of Object.values(schemas)) {
    const fields = (schema.oneOf ?? []).flatMap(({ properties = {} }) => Object.values(properties));
    const isEnum = ({ $ref }: JsonSchema) => schemas[$ref?.split('/').at(-1) ?? '']?.enum !== undefined;
    if (!schema.oneOf || !fields.some(({ type }) => type === 'null') || !fields.some(isEnum)) continue;
    schema.allOf = [{ anyOf: schema.oneOf }, ...(schema.allOf ?? [])];
    delete schema.oneOf;
  }
}

/**
 * Replaces those alternatives of an object schema which a named schema consists of by a reference to that one: a new binding
 * is a condition with further fields.
 */
export function shareAlternatives(schemas: Record<string, JsonSchema>): void {
  const named = Object.entries(schemas).filter(
    ([, { oneOf, properties = {} }]) => oneOf && Object.keys(properties).length === 0,
  );
  for (const schema of Object.values(schemas)) {
    if (Object.keys(schema.properties ?? {}).length === 0) continue;
    const branches = branchesOf(schema);
    for (const [name, { oneOf: shared = [] }] of named) {
      const own = branches.length - shared.length;
      if (own < 0 || JSON.stringify(branches.slice(own)) !== JSON.stringify(shared)) continue;
      if (own === 0 && schema.oneOf) delete schema.oneOf;
      const reference = componentRef('schemas', name);
      // Linters take a schema with properties, even with none, for one that allows no others.
      Object.assign(schemas[name] ?? {}, { type: undefined, properties: undefined, required: undefined });
      if (own === 0) schema.allOf = [reference, ...(schema.allOf ?? [])];
      else branches.splice(own, shared.length, reference);
    }
  }
}

/** Returns the schemas of the alternatives of an object schema; an empty list if it has none. */
export const branchesOf = ({ oneOf, allOf }: JsonSchema): JsonSchema[] => oneOf ?? allOf?.[0]?.anyOf ?? [];

const namesIn = ({ required, optional = [], absent = [], values = {} }: Alternative) => [
  ...required,
  ...optional,
  ...absent,
  ...Object.keys(values),
];

function branchOf(alternative: Alternative, properties: Record<string, JsonSchema>): JsonSchema {
  const { required, nullable = [], optional = [], absent = [], values = {} } = alternative;
  const fields = [...new Set(namesIn(alternative))].map((name): [string, JsonSchema] => {
    const property = properties[name] ?? {};
    if (absent.includes(name)) return [name, { type: 'null' }];
    const value = values[name];
    if (value !== undefined) return [name, onlyValue(property, value)];
    return [name, [...nullable, ...optional].includes(name) ? property : withoutNull(property)];
  });
  // The type is that of the object, which has the branches.
  return {
    properties: Object.fromEntries(fields),
    ...(required.length > 0 && { required: [...required] }),
  };
}

/** Keeps the description of a field with a fixed value only in the first branch that has the field. */
function withoutRepeats(branches: JsonSchema[]): JsonSchema[] {
  const described = new Set<string>();
  for (const { properties = {} } of branches) {
    for (const [name, property] of Object.entries(properties)) {
      if (property.const === undefined) continue;
      if (described.has(name)) delete property.description;
      described.add(name);
    }
  }
  return branches;
}

const onlyValue = ({ description }: JsonSchema, value: string): JsonSchema => ({
  const: value,
  ...(description !== undefined && { description }),
});

/** Removes null from the values of a required field. */
function withoutNull(schema: JsonSchema): JsonSchema {
  const { anyOf, type, ...rest } = schema;
  if (Array.isArray(type)) {
    const [first = '', ...others] = type.filter((name) => name !== 'null');
    return { ...schema, type: others.length === 0 ? first : [first, ...others] };
  }
  const choices = anyOf?.filter((choice) => choice.type !== 'null') ?? [];
  const [only] = choices;
  return choices.length === 1 && only ? { ...only, ...(type && { type }), ...rest } : schema;
}

import { isDeepStrictEqual } from 'node:util';
import { branchesOf } from './alternatives.ts';
import {
  type Components,
  type JsonSchema,
  mediaTypeOf,
  type OpenApiDocument,
  type Operation,
  resolveRef,
} from './document.ts';
import { partsOf } from './schema-parts.ts';

/**
 * Builds an example value for a JSON schema from the examples of its parts. Returns undefined if they have no examples.
 */
export function exampleOf(schema: JsonSchema, components: Components): unknown {
  // An example next to a $ref takes precedence over the example of the referenced schema.
  if (schema.examples) return schema.examples[0];
  const resolved = resolveRef(components, schema);
  if (resolved !== schema) return exampleOf(resolved, components);
  const { const: only, enum: choices, type, properties, items, anyOf, oneOf } = schema;
  if (only !== undefined) return only;
  if (choices) return choices[0];
  if (properties) return exampleObject(schema, components);
  const [alternative] = anyOf ?? oneOf ?? [];
  if (alternative) return exampleOf(alternative, components);
  if (Array.isArray(type) && type.includes('null')) return null;
  switch (type) {
    case 'array':
      return items ? [exampleOf(items, components)].filter((item) => item !== undefined) : [];
    case 'object':
      return {};
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return undefined;
  }
}

/**
 * Builds an example of an object schema, in the first of its alternatives: with the required fields, and the optional
 * fields whose schema has an example.
 */
function exampleObject(schema: JsonSchema, components: Components): Record<string, unknown> {
  const { properties = {}, required = [], allOf = [] } = schema;
  const [chosen] = branchesOf(schema);
  const bases = allOf.filter(({ $ref }) => $ref !== undefined);
  const inherited = bases.map((base) => exampleOf(base, components));
  const inheritedNames = bases.flatMap((base) => resolveRef<JsonSchema>(components, base).required ?? []);
  const wanted = new Set([...required, ...(chosen?.required ?? []), ...inheritedNames]);
  const filled = Object.entries({ ...properties, ...chosen?.properties })
    .filter(([name, property]) => wanted.has(name) || property.examples !== undefined)
    .map(([name, property]) => [name, exampleOf(property, components)])
    .filter(([, value]) => value !== undefined);
  return Object.assign({}, ...inherited, Object.fromEntries(filled));
}

/**
 * Reduces the examples of response data to what cannot be built from other examples: each named schema of an object has
 * either one example or examples of some fields, whichever is shorter.
 */
export function shareExamples({ paths, components }: OpenApiDocument): void {
  const operations = Object.values(paths).flatMap((item) => Object.values<Operation>(item));
  const names = new Set(operations.flatMap(dataSchemas).flatMap((data) => objectNames(data, components)));
  const examples = new Map([...names].map(($ref) => [$ref, exampleOf({ $ref }, components)]));
  removeExamples(Object.values(components.schemas).filter(({ properties }) => properties !== undefined));
  // While one object is changed, the examples of all others must be complete.
  for (const [$ref, example] of examples) resolveRef<JsonSchema>(components, { $ref }).examples = [example];
  for (const [$ref, example] of examples) {
    const schema = resolveRef<JsonSchema>(components, { $ref });
    const given = fieldExamples(schema, example as Record<string, unknown>, components);
    if (lengthOf(given.map(([, value]) => ({ examples: [value] }))) > lengthOf({ examples: [example] })) continue;
    delete schema.examples;
    for (const [property, value] of given) property.examples = [value];
    if (!isDeepStrictEqual(exampleOf(schema, components), example)) {
      for (const [property] of given) delete property.examples;
      schema.examples = [example];
    }
  }
}

/** Removes the examples of the schemas of bodies that the body's own example repeats. */
export function dropRepeatedExamples({ paths }: OpenApiDocument): void {
  for (const { requestBody } of Object.values(paths).flatMap((item) => Object.values<Operation>(item))) {
    if (requestBody) delete mediaTypeOf(requestBody.content).schema.examples;
  }
}

/** Removes the examples that readers can build from the rest of a schema, such as the first value of an enum. */
export function dropImpliedExamples({ paths, components }: OpenApiDocument): void {
  const visit = (schema: JsonSchema): void => {
    for (const part of partsOf(schema)) visit(part);
    const { examples, ...rest } = schema;
    if (examples && isDeepStrictEqual(exampleOf(rest, components), examples[0])) delete schema.examples;
  };
  for (const schema of Object.values(components.schemas)) visit(schema);
  const operations = Object.values(paths).flatMap((item) => Object.values<Operation>(item));
  for (const data of operations.flatMap(dataSchemas)) visit(data);
}

const lengthOf = (value: unknown): number => JSON.stringify(value).length;

/** Returns the fields of an object that need an example of their own, each with its example. */
function fieldExamples(schema: JsonSchema, example: Record<string, unknown>, components: Components) {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties)
    .filter(([name]) => name in example)
    .filter(
      ([name, property]) =>
        !required.includes(name) || !isDeepStrictEqual(exampleOf(property, components), example[name]),
    )
    .map(([name, property]): [JsonSchema, unknown] => [property, example[name]]);
}

/** Returns the references to all named objects that the example of a schema contains. */
function objectNames(schema: JsonSchema, components: Components): string[] {
  const named = resolveRef<JsonSchema>(components, schema);
  const { oneOf: [chosen] = [] } = named;
  const parts = chosen ? [chosen] : partsOf(named);
  const inside = parts.flatMap((part) => objectNames(part, components));
  if (schema.$ref === undefined) return inside;
  return named.properties ? [schema.$ref, ...inside] : inside;
}

/** Returns the schemas of `data` in the success responses of an operation. */
function dataSchemas({ responses }: Operation): JsonSchema[] {
  const contents = Object.values(responses).flatMap((response) => ('content' in response ? [response.content] : []));
  return contents
    .map((content) => mediaTypeOf(content).schema.properties?.['data'])
    .filter((data) => data !== undefined);
}

function removeExamples(schemas: readonly JsonSchema[]): void {
  for (const schema of schemas) {
    delete schema.examples;
    removeExamples(partsOf(schema));
  }
}

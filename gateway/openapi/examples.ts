import { branchesOf } from './alternatives.ts';
import {
  type Components,
  type JsonSchema,
  mediaTypeOf,
  type OpenApiDocument,
  type Operation,
  resolveRef,
} from './document.ts';

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
  switch ([type].flat()[0]) {
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
  const { properties = {}, required = [] } = schema;
  const [chosen] = branchesOf(schema);
  const wanted = new Set([...required, ...(chosen?.required ?? [])]);
  const filled = Object.entries({ ...properties, ...chosen?.properties })
    .filter(([name, property]) => wanted.has(name) || property.examples !== undefined)
    .map(([name, property]) => [name, exampleOf(property, components)])
    .filter(([, value]) => value !== undefined);
  return Object.fromEntries(filled);
}

/**
 * Gives each named schema of response data an example, built from the examples of its fields, and removes those of the
 * fields: each example is in the document only once.
 */
export function shareExamples({ paths, components }: OpenApiDocument): void {
  const operations = Object.values(paths).flatMap((item) => Object.values<Operation>(item));
  const examples = new Map<string, unknown>(
    operations
      .flatMap(dataSchemas)
      .flatMap(({ $ref }) => ($ref ? [[$ref, exampleOf({ $ref }, components)] as const] : [])),
  );
  removeExamples(Object.values(components.schemas).filter(({ properties }) => properties !== undefined));
  for (const [$ref, example] of examples) resolveRef<JsonSchema>(components, { $ref }).examples = [example];
  // The example of a list, for instance, can be built from that of its items.
  for (const [$ref, example] of examples) {
    const schema = resolveRef<JsonSchema>(components, { $ref });
    delete schema.examples;
    if (JSON.stringify(exampleOf(schema, components)) !== JSON.stringify(example)) schema.examples = [example];
  }
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

/** Returns the schemas that are directly within a schema. */
function partsOf({
  properties = {},
  items,
  additionalProperties: values,
  anyOf,
  oneOf,
  allOf,
}: JsonSchema): JsonSchema[] {
  const single = [items, typeof values === 'object' ? values : undefined].filter((part) => part !== undefined);
  return [Object.values(properties), single, anyOf ?? [], oneOf ?? [], allOf ?? []].flat();
}

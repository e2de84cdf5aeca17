import { componentRef, type JsonSchema } from './document.ts';

/** A schema is worth a reference only if it has at least this many fields in common with another one. */
const MIN_FIELDS = 5;

/**
 * Replaces the fields that an object schema has in common with another named schema by a reference to that one, if it
 * has all of its fields in the same form: a created ban is a ban with one more field.
 */
export function shareProperties(schemas: Record<string, JsonSchema>): void {
  const largestFirst = Object.keys(schemas).toSorted(
    (a, b) => fieldsOf(schemas[b]).length - fieldsOf(schemas[a]).length,
  );
  for (const name of largestFirst) {
    const base = largestFirst.find((other) => extendsSchema(schemas[name], schemas[other]));
    if (base === undefined) continue;
    const { properties = {}, required = [], ...rest } = schemas[name] ?? {};
    const { type: _, ...keywords } = rest;
    const inherited = fieldsOf(schemas[base]);
    const own = Object.entries(properties).filter(([field]) => !inherited.includes(field));
    schemas[name] = {
      ...keywords,
      allOf: [componentRef('schemas', base)],
      required: required.filter((field) => !inherited.includes(field)),
      properties: Object.fromEntries(own),
    };
  }
}

const fieldsOf = (schema: JsonSchema | undefined): string[] => Object.keys(schema?.properties ?? {});

/** True if the schema has all fields of the other one, in the same form, and further ones. */
function extendsSchema(schema: JsonSchema | undefined, other: JsonSchema | undefined): boolean {
  const [fields, inherited] = [fieldsOf(schema), fieldsOf(other)];
  if (inherited.length < MIN_FIELDS || fields.length <= inherited.length || hasAlternatives(other)) return false;
  const isSame = (field: string) =>
    JSON.stringify(schema?.properties?.[field]) === JSON.stringify(other?.properties?.[field]) &&
    schema?.required?.includes(field) === other?.required?.includes(field);
  return inherited.every(isSame);
}

const hasAlternatives = (schema: JsonSchema | undefined): boolean =>
  schema?.oneOf !== undefined || schema?.anyOf !== undefined || schema?.allOf !== undefined;

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

/** Fields that several schemas have in common although neither has all of the other's, by the name that they get. */
const COMMON: Record<string, readonly string[]> = {
  Decision: ['Punishment', 'ModerationLogEntry'],
  DecisionInfo: ['BanInfo', 'MuteInfo'],
  RoleChanges: ['SyncResult', 'RolesChanged'],
  SyncJobProgress: ['SyncJob', 'SyncJobFinished'],
  CommandContent: ['Command', 'CommandRecord'],
};

/** Gives the schemas of COMMON a schema with their common fields, from which they inherit. */
export function shareCommonFields(schemas: Record<string, JsonSchema>): void {
  for (const [name, members] of Object.entries(COMMON)) {
    const [first, ...others] = members.map((member) => schemas[member]);
    if (!first || others.includes(undefined)) continue;
    const common = fieldsOf(first).filter((field) => others.every((other) => hasSameField(first, other, field)));
    schemas[name] = only(first, (field) => common.includes(field));
    for (const member of members) {
      const { type: _, ...rest } = only(schemas[member] ?? {}, (field) => !common.includes(field));
      schemas[member] = { ...keywordsOf(schemas[member]), allOf: [componentRef('schemas', name)], ...rest };
    }
  }
}

/** Returns an object schema with only some of the fields of another one. */
function only({ properties = {}, required = [] }: JsonSchema, isWanted: (field: string) => boolean): JsonSchema {
  const wanted = Object.entries(properties).filter(([field]) => isWanted(field));
  return { type: 'object', properties: Object.fromEntries(wanted), required: required.filter(isWanted) };
}

function keywordsOf(schema: JsonSchema = {}): JsonSchema {
  const { type: _, properties: __, required: ___, ...keywords } = schema;
  return keywords;
}

const fieldsOf = (schema: JsonSchema | undefined): string[] => Object.keys(schema?.properties ?? {});

/** True if the schema has all fields of the other one, in the same form, and further ones. */
function extendsSchema(schema: JsonSchema | undefined, other: JsonSchema | undefined): boolean {
  const [fields, inherited] = [fieldsOf(schema), fieldsOf(other)];
  if (inherited.length < MIN_FIELDS || fields.length <= inherited.length || hasAlternatives(other)) return false;
  return inherited.every((field) => hasSameField(schema, other, field));
}

const hasSameField = (schema: JsonSchema | undefined, other: JsonSchema | undefined, field: string): boolean =>
  JSON.stringify(schema?.properties?.[field]) === JSON.stringify(other?.properties?.[field]) &&
  schema?.required?.includes(field) === other?.required?.includes(field);

const hasAlternatives = (schema: JsonSchema | undefined): boolean =>
  schema?.oneOf !== undefined || schema?.anyOf !== undefined || schema?.allOf !== undefined;

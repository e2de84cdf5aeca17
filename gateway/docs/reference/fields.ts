import { branchesOf } from '../../openapi/alternatives.ts';
import { type Components, type JsonSchema, resolveRef } from '../../openapi/document.ts';
import { type Html, html } from '../html.ts';
import { inline, table } from '../markdown.ts';

/** One row of the table of fields on the documentation page. */
export interface Field {
  /** The dotted path of a field, with `[]` for the items of a list. */
  name: string;
  schema: JsonSchema;
  need: 'required' | 'one of these' | 'optional';
  /** Where a request parameter is sent: path, query or header. */
  place?: string;
}

/** Returns every field of an object schema, including the fields of nested objects. */
export function fieldsOf(schema: JsonSchema, components: Components, prefix = ''): Field[] {
  const object = withReference(schema, components);
  const parts = partsOf(object, components);
  const properties = Object.assign({}, ...parts.map((part) => part.properties));
  const required = parts.flatMap((part) => part.required ?? []);
  const oneOf = parts.flatMap(branchesOf).flatMap((branch) => expanded(branch, components));
  const choices = oneOf.some(hasFixedValues) ? [] : oneOf.flatMap((choice) => choice.required ?? []);
  const isRequired = (name: string) =>
    required.includes(name) || (oneOf.length > 0 && oneOf.every((choice) => choice.required?.includes(name)));
  return Object.entries<JsonSchema>({ ...properties, ...fieldsOfBranches(oneOf) }).flatMap(([name, property]) => {
    const field = withReference(property, components);
    const need = isRequired(name) ? 'required' : choices.includes(name) ? 'one of these' : 'optional';
    const inside = objectsIn(field, components).flatMap(([suffix, part]) =>
      fieldsOf(part, components, `${prefix}${name}${suffix}.`),
    );
    return [{ name: prefix + name, schema: field, need }, ...inside];
  });
}

/** Returns the schemas that an object extends, and its own as the last. */
function partsOf(object: JsonSchema, components: Components): JsonSchema[] {
  const extended = (object.allOf ?? []).flatMap((part) => partsOf(withReference(part, components), components));
  return [...extended, object];
}

/** Returns the alternatives that an alternative refers to, or the alternative itself. */
function expanded(branch: JsonSchema, components: Components): JsonSchema[] {
  const branches = branchesOf(withReference(branch, components));
  return branches.length > 0 ? branches : [branch];
}

/** Returns the fields of all alternatives of an object. A field that has a fixed value in each has all these values. */
function fieldsOfBranches(branches: readonly JsonSchema[]): Record<string, JsonSchema> {
  const given = branches
    .flatMap(({ properties = {} }) => Object.entries(properties))
    .filter(([, property]) => property.type !== 'null');
  const merged = [...Map.groupBy(given, ([name]) => name)].map(([name, found]): [string, JsonSchema] => {
    const [, first = {}] = found[0] ?? [];
    const { const: _, ...rest } = first;
    const values = found.flatMap(([, property]) => valuesOf(property));
    return [name, values.length > 0 ? { ...rest, type: 'string', enum: values } : first];
  });
  return Object.fromEntries(merged);
}

const valuesOf = ({ const: only }: JsonSchema): unknown[] => (only === undefined ? [] : [only]);

const hasFixedValues = ({ properties = {} }: JsonSchema): boolean =>
  Object.values(properties).some((property) => valuesOf(property).length > 0);

/** Returns the object schemas nested in a field: its own, and those of list items, map values and alternatives. */
function objectsIn(field: JsonSchema, components: Components): [suffix: string, part: JsonSchema][] {
  const alternatives = (field.anyOf ?? []).flatMap((part) => objectsIn(withReference(part, components), components));
  const values = typeof field.additionalProperties === 'object' ? field.additionalProperties : undefined;
  return [
    ...alternatives,
    ...(field.properties ? [['', field] as [string, JsonSchema]] : []),
    ...itemsOf('[]', field.items, components),
    ...itemsOf('.*', values, components),
  ];
}

function itemsOf(suffix: string, schema: JsonSchema | undefined, components: Components): [string, JsonSchema][] {
  if (!schema) return [];
  return objectsIn(withReference(schema, components), components).map(([deeper, part]) => [suffix + deeper, part]);
}

function withReference(schema: JsonSchema, components: Components): JsonSchema {
  if (schema.$ref === undefined) return schema;
  const { $ref: _, ...beside } = schema;
  return { ...resolveRef(components, schema), ...beside };
}

/** Renders the table of the fields or parameters of a request as HTML. */
export function fieldTable(title: string, fields: Field[], components: Components): Html | undefined {
  if (fields.length === 0) return undefined;
  const rows = fields.map(({ name, schema, need, place }) => [
    html`<code>${name}</code>`,
    html`${typeOf(schema, components)}${place && html` <span class="quiet">in ${place}</span>`}`,
    html`<span class="${need === 'required' ? 'required' : 'quiet'}">${need}</span>`,
    html`${inline(schema.description ?? '')} ${note(constraintsOf(schema, components))}`,
  ]);
  return html`<h3>${title}</h3>
${table(['Name', 'Type', 'Required', 'Description'], rows)}`;
}

/** Renders the table of the fields of a response as HTML. The table has no column for required fields. */
export function responseTable(fields: Field[], components: Components): Html {
  const rows = fields.map(({ name, schema }) => [
    html`<code>${name}</code>`,
    typeOf(schema, components),
    html`${inline(schema.description ?? '')} ${note(choicesOf(schema, components))}`,
  ]);
  return table(['Name', 'Type', 'Description'], rows);
}

function typeOf(schema: JsonSchema, components: Components): string {
  const { type, items, anyOf, properties, const: only, enum: choices = [] } = withReference(schema, components);
  if (anyOf) return anyOf.map((alternative) => typeOf(alternative, components)).join(' or ');
  const isText = [only, ...choices].some((value) => typeof value === 'string');
  const names = [type ?? (properties ? 'object' : isText ? 'string' : 'anything')].flat();
  return names.map((name) => (name === 'array' && items ? `list of ${typeOf(items, components)}` : name)).join(' or ');
}

const note = (parts: (string | undefined)[]): Html | undefined => {
  const given = parts.filter((part) => part !== undefined);
  return given.length > 0 ? html`<span class="quiet">${given.join('; ')}</span>` : undefined;
};

function constraintsOf(schema: JsonSchema, components: Components): (string | undefined)[] {
  const { minimum, maximum, minLength, maxLength, maxItems } = schema;
  return [
    ...choicesOf(schema, components),
    range(minimum, maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum),
    range(minLength, maxLength, ' characters'),
    range(undefined, maxItems, ' items'),
  ];
}

/** Returns the values of an enum: of the field itself, of the items of a list, or of a field that may be null. */
export function choicesOf(schema: JsonSchema, components: Components): string[] {
  const { enum: choices, items, anyOf = [] } = withReference(schema, components);
  if (choices) {
    const values = choices.filter((choice) => choice !== null);
    return [`one of ${values.map(String).join(', ')}`];
  }
  return [...anyOf, ...(items ? [items] : [])].flatMap((part) => choicesOf(part, components));
}

function range(from: number | undefined, to: number | undefined, unit = ''): string | undefined {
  if (from === undefined && to === undefined) return undefined;
  if (to === undefined) return `at least ${from}${unit}`;
  return from === undefined ? `at most ${to}${unit}` : `${from} to ${to}${unit}`;
}

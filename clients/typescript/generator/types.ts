import type { JsonSchema } from '../../../gateway/openapi/document.ts';

const COMPONENT = '#/components/schemas/';

/** Converts a schema of the OpenAPI document to a TypeScript type. `indent` is the indentation of its first line. */
export function typeOf(schema: JsonSchema, indent = ''): string {
  const parts = [...ownTypes(schema, indent), ...combinations(schema, indent)];
  return parts.length === 0 ? 'unknown' : intersectionOf(parts);
}

function ownTypes(schema: JsonSchema, indent: string): string[] {
  if (schema.$ref) return [schema.$ref.slice(COMPONENT.length)];
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  if (schema.enum) return [unionOf(schema.enum.map((value) => JSON.stringify(value)))];
  const types = [schema.type ?? (schema.properties ? 'object' : [])].flat();
  return types.length === 0 ? [] : [unionOf(types.map((type) => namedType(type, schema, indent)))].filter(Boolean);
}

function combinations({ oneOf, anyOf, allOf }: JsonSchema, indent: string): string[] {
  const unions = [oneOf, anyOf].filter((choices) => choices !== undefined);
  return [
    ...unions.map((choices) => unionOf(choices.map((choice) => typeOf(choice, indent)))),
    ...(allOf ?? []).map((part) => typeOf(part, indent)),
  ];
}

function namedType(type: string, schema: JsonSchema, indent: string): string {
  switch (type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
      return isDuration(schema) ? 'DurationText' : 'string';
    case 'array':
      return `${wrapped(typeOf(schema.items ?? {}, indent))}[]`;
    case 'object':
      return objectType(schema, indent);
    default:
      return type;
  }
}

/** An object with fields; with an index signature if it has fields of any name. Empty if only combinations have fields. */
function objectType(
  { properties = {}, required = [], additionalProperties, oneOf, allOf }: JsonSchema,
  indent: string,
): string {
  const inner = `${indent}  `;
  const fields = Object.entries(properties).map(([name, property]) => {
    const mark = required.includes(name) ? '' : '?';
    return `${commentOf(property.description, inner)}${inner}${name}${mark}: ${typeOf(property, inner)};\n`;
  });
  if (additionalProperties !== undefined && additionalProperties !== false) {
    const values = additionalProperties === true ? 'unknown' : typeOf(additionalProperties, inner);
    fields.push(`${inner}[name: string]: ${values};\n`);
  }
  if (fields.length > 0) return `{\n${fields.join('')}${indent}}`;
  return oneOf || allOf ? '' : 'Record<string, never>';
}

/** A comment of documentation, with the line break after it; empty without a text. */
export function commentOf(text: string | undefined, indent = ''): string {
  if (!text) return '';
  const lines = text.replaceAll('*/', '*\\/').split('\n');
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`;
}

/** True for the schema of a duration such as `7d`, whose type has the units. */
function isDuration({ pattern }: JsonSchema): boolean {
  if (pattern === undefined) return false;
  const texts = ['permanent', '7d', '2w'].map((text) => new RegExp(pattern, 'u').test(text));
  return String(texts) === 'true,true,false';
}

const unionOf = (types: readonly string[]) =>
  [...new Set(types)].map((type) => (type.includes(' & ') && types.length > 1 ? `(${type})` : type)).join(' | ');
const intersectionOf = (types: readonly string[]) =>
  types.length === 1 ? String(types[0]) : types.map(wrapped).join(' & ');
const wrapped = (type: string) => (/ [|&] /.test(type) ? `(${type})` : type);

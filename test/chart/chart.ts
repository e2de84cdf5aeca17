import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { CHART } from '../../deploy/chart-files.ts';

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

/** A value with its path. */
export type Leaf = { path: string[]; value: Json };

export const readChart = (path: string) => readFileSync(join(CHART, path), 'utf8');
export const values = parse(readChart('values.yaml')) as JsonObject;
export const schema = JSON.parse(readChart('values.schema.json')) as JsonObject;

/** The value sets, by name. */
export const VALUE_SETS = readdirSync(join(CHART, 'ci')).map((file) => file.replace('-values.yaml', ''));
export const valueSet = (name: string) => join(CHART, 'ci', `${name}-values.yaml`);

type Parts = { console?: { enabled?: boolean }; tracing?: { endpoint?: string } };
const readValueSet = (name: string) => parse(readFileSync(valueSet(name), 'utf8')) as Parts;

/** True if a value set enables the console. */
export const hasConsole = (name: string): boolean => readValueSet(name).console?.enabled === true;
/** True if a value set names a collector of traces. */
export const isTraced = (name: string): boolean => readValueSet(name).tracing?.endpoint !== undefined;

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** All leaf values; an empty object and a list count as one leaf. */
export function leaves(value: Json, path: string[] = []): Leaf[] {
  if (!isObject(value) || Object.keys(value).length === 0) return [{ path, value }];
  return Object.entries(value).flatMap(([name, inner]) => leaves(inner, [...path, name]));
}

/** The schema at a path, with references resolved; undefined if the schema rejects the path. */
export function schemaAt(path: readonly string[], at: Json | undefined = schema): JsonObject | undefined {
  const here = resolve(at);
  if (here === undefined || path.length === 0) return here;
  const [name = '', ...rest] = path;
  const properties = here['properties'];
  if (isObject(properties) && name in properties) return schemaAt(rest, properties[name]);
  return isObject(here['additionalProperties']) ? schemaAt(rest, here['additionalProperties']) : undefined;
}

function resolve(at: Json | undefined): JsonObject | undefined {
  if (!isObject(at)) return undefined;
  const reference = at['$ref'];
  if (typeof reference !== 'string') return at;
  const definitions = schema['definitions'] as JsonObject;
  return resolve(definitions[reference.replace('#/definitions/', '')]);
}

/** Every path in the schema, except those of `config`, which services define, and of objects that also have other names. */
export function schemaPaths(at: Json | undefined = schema, path: string[] = []): string[][] {
  const here = resolve(at);
  const properties = here?.['properties'];
  if (!isObject(properties) || (here?.['patternProperties'] && path.length > 0)) return [path];
  return Object.entries(properties).flatMap(([name, inner]) =>
    name === 'config' ? [[...path, name]] : schemaPaths(inner, [...path, name]),
  );
}

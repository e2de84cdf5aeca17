import { parse as parseQuery } from 'node:querystring';
import type { z } from 'zod';
import { MAX_FAULTS, messageOf } from '#proto/rest/messages.ts';
import { type Fault, invalidRequest } from '../errors.ts';

/** The part of a request that is validated; `request` is the message of a gRPC call. */
export type FaultPlace = 'body' | 'query' | 'path' | 'request';

/**
 * Validates a part of a request. Returns the parsed value if it matches the schema, otherwise the first MAX_FAULTS
 * errors, each with a path such as `body.chat_ids[3]`. Where the schema expects an object, an empty list in the value
 * is replaced by an empty object.
 */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: FaultPlace,
): { value: z.output<Schema>; faults?: undefined } | { value?: undefined; faults: Fault[] } {
  const parse = () => schema.safeParse(value, { error: messageOf });
  let result = parse();
  while (result.error && replaceEmptyTables(value, result.error.issues)) result = parse();
  if (result.success) return { value: result.data };
  const faults = result.error.issues.slice(0, MAX_FAULTS).map((issue) => ({
    path: place + issue.path.map(pathPart).join(''),
    message: issue.path.length > 0 && valueAt(value, issue.path) === undefined ? 'is required' : issue.message,
  }));
  return { faults };
}

/**
 * Validates a value, by default a gRPC message, and returns the parsed value. Throws INVALID_REQUEST with all errors.
 */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: FaultPlace = 'request',
): z.output<Schema> {
  const result = validate(schema, value, place);
  if (result.faults) throw invalidRequest(result.faults);
  return result.value;
}

/**
 * Replaces an empty list by an empty object wherever the schema expects an object, because Luau encodes every empty
 * table as `[]`. Returns true if a list was replaced.
 */
function replaceEmptyTables(value: unknown, issues: readonly z.core.$ZodIssue[]): boolean {
  let isReplaced = false;
  for (const issue of issues) {
    const name = issue.path.at(-1);
    if (issue.code !== 'invalid_type' || !OBJECTS.includes(issue.expected) || name === undefined) continue;
    const owner = valueAt(value, issue.path.slice(0, -1)) as Record<PropertyKey, unknown>;
    const found = owner[name];
    if (!Array.isArray(found) || found.length > 0) continue;
    owner[name] = {};
    isReplaced = true;
  }
  return isReplaced;
}

/** The names of the zod types whose JSON values are written in braces. */
const OBJECTS = ['object', 'record'];

/** Returns the value at a path inside a JSON value; undefined if there is none. */
function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  for (const part of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Record<PropertyKey, unknown>)[part];
  }
  return found;
}

const pathPart = (part: PropertyKey) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`);

/** Parses a query string. Each repeated parameter is a validation error; the first MAX_FAULTS of these are returned. */
export function readQuery(query: string): { value: Record<string, unknown>; faults: Fault[] } {
  const value = parseQuery(query, '&', '=', { maxKeys: 0 });
  const faults = Object.entries(value)
    .filter(([, given]) => Array.isArray(given))
    .slice(0, MAX_FAULTS)
    .map(([name]) => ({ path: `query.${name}`, message: 'must be given only once' }));
  return { value, faults };
}

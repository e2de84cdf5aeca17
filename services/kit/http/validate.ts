import { parse as parseQuery } from 'node:querystring';
import type { z } from 'zod';
import { MAX_FAULTS, messageOf } from '#proto/rest/messages.ts';
import { type Fault, invalidRequest } from '../errors.ts';

/** `request` is that of a gRPC call. */
export type FaultPlace = 'body' | 'query' | 'path' | 'request';

/**
 * The value where it fits its schema, else its first MAX_FAULTS faults, each with a path such as `body.chat_ids[3]`.
 * An empty list in the value reads as an empty object where the schema wants one, and is replaced by it.
 */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: FaultPlace,
): { value: z.output<Schema>; faults?: undefined } | { value?: undefined; faults: Fault[] } {
  const parse = () => schema.safeParse(value, { error: messageOf });
  let result = parse();
  while (result.error && mendEmptyTables(value, result.error.issues)) result = parse();
  if (result.success) return { value: result.data };
  const faults = result.error.issues.slice(0, MAX_FAULTS).map((issue) => ({
    path: place + issue.path.map(pathPart).join(''),
    message: issue.path.length > 0 && valueAt(value, issue.path) === undefined ? 'is required' : issue.message,
  }));
  return { faults };
}

/** The value, of a gRPC call unless told otherwise, as its schema reads it; INVALID_REQUEST with all its faults. */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: FaultPlace = 'request',
): z.output<Schema> {
  const result = validate(schema, value, place);
  if (result.faults) throw invalidRequest(result.faults);
  return result.value;
}

/** Luau encodes an empty table as `[]`, also where it means an object. Tells whether there was one. */
function mendEmptyTables(value: unknown, issues: readonly z.core.$ZodIssue[]): boolean {
  let mended = false;
  for (const issue of issues) {
    const name = issue.path.at(-1);
    if (issue.code !== 'invalid_type' || !OBJECTS.includes(issue.expected) || name === undefined) continue;
    const owner = valueAt(value, issue.path.slice(0, -1)) as Record<PropertyKey, unknown>;
    const found = owner[name];
    if (!Array.isArray(found) || found.length > 0) continue;
    owner[name] = {};
    mended = true;
  }
  return mended;
}

/** What zod calls the things that braces stand for. */
const OBJECTS = ['object', 'record'];

/** What stands at a path; undefined where the path leads nowhere. */
function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  for (const part of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Record<PropertyKey, unknown>)[part];
  }
  return found;
}

const pathPart = (part: PropertyKey) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`);

/** A query string as an object; repeated parameters are faults, of which the first MAX_FAULTS are listed. */
export function readQuery(query: string): { value: Record<string, unknown>; faults: Fault[] } {
  const value = parseQuery(query, '&', '=', { maxKeys: 0 });
  const faults = Object.entries(value)
    .filter(([, given]) => Array.isArray(given))
    .slice(0, MAX_FAULTS)
    .map(([name]) => ({ path: `query.${name}`, message: 'must be given only once' }));
  return { value, faults };
}

import { parse as parseQuery } from 'node:querystring';
import type { z } from 'zod';
import type { Fault } from './errors.ts';

/** `request` is that of a gRPC call. */
export type FaultPlace = 'body' | 'query' | 'path' | 'request';

/** The value where it fits its schema, else its faults, each with a path such as `body.chat_ids[3]`. */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: FaultPlace,
): { value: z.output<Schema>; faults?: undefined } | { value?: undefined; faults: Fault[] } {
  const result = schema.safeParse(value);
  if (result.success) return { value: result.data };
  const faults = result.error.issues.map((issue) => ({
    path: place + issue.path.map(pathPart).join(''),
    message: isMissing(value, issue.path) ? 'is required' : issue.message,
  }));
  return { faults };
}

const pathPart = (part: PropertyKey) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`);

function isMissing(value: unknown, path: readonly PropertyKey[]): boolean {
  if (path.length === 0) return false;
  let found = value;
  for (const part of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return true;
    found = (found as Record<PropertyKey, unknown>)[part];
  }
  return found === undefined;
}

/** A query string as an object; parameters that stand there twice are faults. */
export function readQuery(query: string): { value: Record<string, unknown>; faults: Fault[] } {
  const value = parseQuery(query);
  const faults = Object.entries(value)
    .filter(([, given]) => Array.isArray(given))
    .map(([name]) => ({ path: `query.${name}`, message: 'must be given only once' }));
  return { value, faults };
}

import type { z } from 'zod';

/** At most this many faults of a request are reported. Validation stops there. */
export const MAX_FAULTS = 20;

const KINDS: Readonly<Record<string, string>> = {
  object: 'an object',
  record: 'an object',
  array: 'a list',
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};

const FORMATS: Readonly<Record<string, string>> = {
  uuid: 'a UUID',
  guid: 'a UUID',
  url: 'a URL',
  email: 'an email address',
  datetime: 'a time such as 2026-01-31T12:00:00Z',
  date: 'a date such as 2026-01-31',
  base64: 'base64',
};

/** The message of a fault whose schema defines no message, in words that need no knowledge of zod. */
export function messageOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be ${oneOf(issue.values)}`;
    case 'invalid_format':
      return FORMATS[issue.format] ? `must be ${FORMATS[issue.format]}` : 'has an invalid format';
    case 'too_small':
      return `must ${isSized(issue.origin) ? 'have' : 'be'} at least ${sizeOf(issue.origin, issue.minimum)}`;
    case 'too_big':
      return `must ${isSized(issue.origin) ? 'have' : 'be'} at most ${sizeOf(issue.origin, issue.maximum)}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return `has unknown fields: ${issue.keys.join(', ')}`;
    case 'invalid_union':
      return 'has none of the allowed forms';
    default:
      return 'is invalid';
  }
}

/** The things that are counted in a value whose size has bounds. */
const PARTS: Readonly<Record<string, readonly [one: string, several: string]>> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
  set: ['entry', 'entries'],
  map: ['entry', 'entries'],
};

const isSized = (origin: string) => Object.hasOwn(PARTS, origin);

function sizeOf(origin: string, size: number | bigint): string {
  const [one, several] = PARTS[origin] ?? [];
  if (one === undefined) return String(size);
  return `${size} ${Number(size) === 1 ? one : several}`;
}

function oneOf(values: readonly unknown[]): string {
  const texts = values.map((value) => String(value));
  return texts.length === 1 ? `${texts[0]}` : `one of ${texts.join(', ')}`;
}

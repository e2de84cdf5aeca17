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

const NUMBERS = ['number', 'int'];

/** The message of a fault whose schema defines no message. Undefined means that zod's own message is used. */
export function messageOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') return KINDS[issue.expected] && `must be ${KINDS[issue.expected]}`;
  if (issue.code === 'too_small' && NUMBERS.includes(issue.origin)) return `must be at least ${issue.minimum}`;
  if (issue.code === 'too_big' && NUMBERS.includes(issue.origin)) return `must be at most ${issue.maximum}`;
  return undefined;
}

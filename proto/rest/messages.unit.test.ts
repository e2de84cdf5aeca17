import { expect, test } from 'vitest';
import { z } from 'zod';
import { messageOf } from './messages.ts';

/** The messages about a value that has one fault. */
const faults = (schema: z.ZodType, value: unknown) =>
  schema.safeParse(value, { error: messageOf }).error?.issues.map(({ message }) => message);

test.each([
  [z.string(), 1, 'must be a string'],
  [z.int(), 1.5, 'must be a whole number'],
  [z.boolean(), 'x', 'must be true or false'],
  [z.array(z.int()), {}, 'must be a list'],
  [z.record(z.string(), z.int()), 'x', 'must be an object'],
  [z.enum(['ban', 'mute']), 'kick', 'must be one of ban, mute'],
  [z.literal('ban'), 'kick', 'must be ban'],
  [z.int().min(1), 0, 'must be at least 1'],
  [z.int().max(5), 6, 'must be at most 5'],
  [z.string().min(1), '', 'must have at least 1 character'],
  [z.string().max(3), 'abcd', 'must have at most 3 characters'],
  [z.array(z.int()).min(1), [], 'must have at least 1 entry'],
  [z.array(z.int()).max(2), [1, 2, 3], 'must have at most 2 entries'],
  [z.int().multipleOf(5), 3, 'must be a multiple of 5'],
  [z.uuid(), 'x', 'must be a UUID'],
  [z.url(), 'x', 'must be a URL'],
  [z.string().regex(/^a$/), 'x', 'has an invalid format'],
  [z.strictObject({}), { b: 1, c: 2 }, 'has unknown fields: b, c'],
  [z.union([z.string(), z.int()]), true, 'has none of the allowed forms'],
  [z.string({ error: 'is required' }), 1, 'is required'],
])('a fault without a message of its own is described in plain words: %#', (schema, value, message) => {
  expect(faults(schema, value)).toEqual([message]);
});

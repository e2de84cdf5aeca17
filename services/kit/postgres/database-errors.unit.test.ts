import { DatabaseError } from 'pg';
import { expect, test } from 'vitest';
import { isUniqueViolation } from './database-errors.ts';

const errorOf = (message: string, fields: Partial<DatabaseError>) =>
  Object.assign(new DatabaseError(message, message.length, 'error'), fields);

const MESSAGE = 'duplicate key value violates unique constraint "crews_name_102174"';

test.each([
  ['PostgreSQL', errorOf('duplicate key', { code: '23505', constraint: 'crews_name' })],
  ['a worker of Citus, whose constraints have the number of a shard', errorOf(MESSAGE, { code: '23505' })],
  ['Citus about a copied row, without the SQL state', errorOf(MESSAGE, { code: 'XX000', routine: 'ReportCopyError' })],
])('a unique violation is recognised in the error of %s', (_, error) => {
  expect(isUniqueViolation(error)).toBe(true);
  expect(isUniqueViolation(error, 'crews_name')).toBe(true);
  expect(isUniqueViolation(error, 'crews')).toBe(false);
});

test.each([
  ['another constraint', errorOf(MESSAGE.replace('unique', 'check'), { code: '23514' })],
  ['an internal error with such a message', errorOf(MESSAGE, { code: 'XX000', routine: 'elog_start' })],
  ['a failed copy', errorOf('could not open file', { code: 'XX000', routine: 'ReportCopyError' })],
])('%s is no unique violation', (_, error) => {
  expect(isUniqueViolation(error)).toBe(false);
});

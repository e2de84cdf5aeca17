import { DatabaseError } from 'pg';
import { expect, test } from 'vitest';
import { isNodeUnreachable, isRejectedStatement, isUniqueViolation } from './database-errors.ts';

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

const UNREACHABLE =
  'connection to the remote node postgres@127.0.0.1:5432 failed with the following error: Connection refused';

test.each([
  [UNREACHABLE, '08006'],
  ['failure on connection marked as essential: 127.0.0.1:5432', 'XX000'],
  ['could not commit transaction for shard 102011 on at least one active node', 'XX000'],
  ['terminating connection due to administrator command', 'XX000'],
  ['terminating connection due to unexpected postmaster exit', 'XX000'],
  ['postmaster was shut down, exiting', 'XX000'],
  ['the database system is shutting down', 'XX000'],
])('the message of Citus "%s" means an unreachable node, and the statement is not to blame', (message, code) => {
  const error = errorOf(message, { code, severity: 'ERROR' });
  expect(isNodeUnreachable(error)).toBe(true);
  expect(isRejectedStatement(error)).toBe(false);
});

test('another internal error is no unreachable node', () => {
  const error = errorOf('unrecognized node type: 124', { code: 'XX000', severity: 'ERROR' });
  expect(isNodeUnreachable(error)).toBe(false);
  expect(isRejectedStatement(error)).toBe(true);
});

test('the end of the own connection is an outage, but no unreachable node', () => {
  const error = errorOf('connection failure', { code: '08006', severity: 'FATAL' });
  expect(isNodeUnreachable(error)).toBe(false);
  expect(isRejectedStatement(error)).toBe(false);
});

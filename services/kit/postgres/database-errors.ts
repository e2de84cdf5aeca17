import { DatabaseError } from 'pg';
import { ApiError } from '../errors.ts';

/** True if a write violated a unique constraint: the named one, or any if no name is passed. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  if (!(error instanceof DatabaseError) || !(error.code === UNIQUE_VIOLATION || isCopiedDuplicate(error))) return false;
  return constraint === undefined || violatedConstraint(error) === constraint;
}

/** Citus copies rows that a statement computes to the node of the guild, and then reports a duplicate without its SQL state. */
const isCopiedDuplicate = ({ routine, message }: DatabaseError) =>
  routine === 'ReportCopyError' && message.startsWith('duplicate key value');

/**
 * The name of the constraint that a write violated. With Citus it ends with the number of the shard, and is often only in the
 * message of the node that has the row.
 */
function violatedConstraint({ constraint, message }: DatabaseError): string | undefined {
  const name = constraint ?? / constraint "(?<name>\w+)"/.exec(message)?.groups?.['name'];
  return name?.replace(/_\d{6,}$/, '');
}

/**
 * True if PostgreSQL rejected the statement or one of its values. Any other error means that the database is
 * unavailable.
 */
export function isRejectedStatement(error: unknown): boolean {
  if (error instanceof DatabaseError) {
    return !isOutage(error) && !isRetryable(error) && !isStatementLost(error) && !isNodeUnreachable(error);
  }
  return error instanceof TypeError || error instanceof RangeError;
}

/** True if PostgreSQL cannot store a value, such as a text with a null character: the same statement would fail again. */
export const isDataException = (error: unknown) =>
  error instanceof DatabaseError && error.code?.startsWith('22') === true;

/**
 * True if an error of PostgreSQL means an outage: connection exceptions, insufficient resources, operator intervention
 * (including statement timeouts), system errors, a read-only server or an ended session.
 */
function isOutage({ code = '', severity }: DatabaseError): boolean {
  return severity === 'FATAL' || code === READ_ONLY || ['08', '53', '57', '58'].includes(code.slice(0, 2));
}

/**
 * True if the coordinator of Citus reports that it does not reach another node. The connection to the coordinator can be used
 * again.
 */
export function isNodeUnreachable(error: unknown): boolean {
  if (!(error instanceof DatabaseError) || error.severity !== 'ERROR') return false;
  return error.code === CONNECTION_FAILURE || LOST_NODE.test(error.message);
}

/**
 * The messages about a node that is lost or stops during a transaction, when Citus reports them without an SQL state: its own, and those
 * of the node while rows are copied to it.
 */
const LOST_NODE = new RegExp(
  `^(?:${[
    'failure on connection marked as essential',
    'could not commit transaction for shard \\d+ on at least one active node',
    'terminating connection due to',
    'postmaster was shut down',
    'the database system is ',
  ].join('|')})`,
);

/** True for deadlocks, serialization failures and lock timeouts, after which the connection can be used again. */
export function isRetryable(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code?.startsWith('40') || error.code === LOCK_NOT_AVAILABLE);
}

/** True if a statement waited for a lock longer than the lock timeout. */
export const isLockTimeout = (error: unknown) => error instanceof DatabaseError && error.code === LOCK_NOT_AVAILABLE;

/** True if a statement took longer than the statement timeout; also for the error of the API that was caused by it. */
export function isStatementTimeout(error: unknown): boolean {
  const cause = error instanceof ApiError ? error.cause : error;
  return cause instanceof DatabaseError && cause.code === QUERY_CANCELED;
}

/** True if a prepared statement is missing or its columns have changed: a new connection has to prepare it again. */
function isStatementLost({ code, routine }: DatabaseError): boolean {
  // The error is identified by the routine of PostgreSQL that reported it, because the message depends on the server's
  // language.
  const hasChanged = code === NOT_SUPPORTED && routine === 'RevalidateCachedQuery';
  return code === UNKNOWN_STATEMENT || code === DUPLICATE_STATEMENT || hasChanged;
}

const UNIQUE_VIOLATION = '23505';
const UNKNOWN_STATEMENT = '26000';
const DUPLICATE_STATEMENT = '42P05';
const NOT_SUPPORTED = '0A000';
const CONNECTION_FAILURE = '08006';
const READ_ONLY = '25006';
const QUERY_CANCELED = '57014';
const LOCK_NOT_AVAILABLE = '55P03';

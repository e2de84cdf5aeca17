import { createHash } from 'node:crypto';

/** An SQL statement that each connection prepares once; PostgreSQL then uses the same plan for every execution. */
export interface Prepared {
  readonly name: string;
  readonly text: string;
}

/** An SQL read without the timeout of ordinary reads. */
export interface LongRunning {
  readonly text: string;
  readonly isLongRunning: true;
}

export type Statement = string | Prepared | LongRunning;

/**
 * Marks an SQL statement with a constant text, which is executed very often, to be prepared. PostgreSQL plans it once,
 * without the values, so the best plan must not depend on the values: see deploy/decisions/0008.
 */
export function prepared(text: string): Prepared {
  // The statement's name is a hash of its text, so that statements of different processes in one session cannot be
  // confused.
  return { name: `p${createHash('sha256').update(text).digest('hex').slice(0, 32)}`, text };
}

/**
 * Marks an SQL read of background work, such as a count of a whole guild: only the timeout of all statements applies to
 * it.
 */
export function longRunning(text: string): LongRunning {
  return { text, isLongRunning: true };
}

const READ = /^\s*(?:SELECT|WITH)\b/i;
/** Matches the words of SQL statements that change or lock rows, or have another effect. */
const EFFECT =
  /\b(?:INSERT|UPDATE|DELETE|MERGE|FOR\s+(?:KEY\s+)?SHARE|nextval|pg_\w*(?:lock|notify|terminate|cancel)\w*)\b/i;

/**
 * True if an SQL statement only reads, so that its caller may stop waiting without any doubt about its effect. A
 * statement with a change in any part, such as a CTE that deletes, is not a read.
 */
export function isRead(statement: Statement): boolean {
  if (typeof statement === 'string') return READ.test(statement) && !EFFECT.test(statement);
  if ('isLongRunning' in statement) return false;
  return READ.test(statement.text) && !EFFECT.test(statement.text);
}

import { createHash } from 'node:crypto';

/** A statement that each connection prepares once, and whose plan it keeps. */
export interface Prepared {
  readonly name: string;
  readonly text: string;
}

/** A read that may take longer than a caller waits for one. */
export interface LongRunning {
  readonly text: string;
  readonly isLongRunning: true;
}

export type Statement = string | Prepared | LongRunning;

/**
 * For a constant text that is asked again and again. Its plan is made once and without the values, so the text must leave
 * PostgreSQL no choice: see deploy/decisions/0008.
 */
export function prepared(text: string): Prepared {
  // By the text, so that no session, whoever had it before, takes one for another.
  return { name: `p${createHash('sha256').update(text).digest('hex').slice(0, 32)}`, text };
}

/** For a read of background work, such as a count of a whole guild: it has as long as any statement. */
export function longRunning(text: string): LongRunning {
  return { text, isLongRunning: true };
}

const READ = /^\s*(?:SELECT|WITH)\b/i;
/** What changes rows, locks them, or has an effect outside of the statement. */
const EFFECT =
  /\b(?:INSERT|UPDATE|DELETE|MERGE|FOR\s+(?:KEY\s+)?SHARE|nextval|pg_\w*(?:lock|notify|terminate|cancel)\w*)\b/i;

/**
 * Whether a statement only reads, so that nothing is left in doubt when its caller does not wait for the result. A text
 * that merely mentions a change, such as a CTE that deletes, is not a read.
 */
export function isRead(statement: Statement): boolean {
  if (typeof statement === 'string') return READ.test(statement) && !EFFECT.test(statement);
  if ('isLongRunning' in statement) return false;
  return READ.test(statement.text) && !EFFECT.test(statement.text);
}

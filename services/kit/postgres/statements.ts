import { createHash } from 'node:crypto';
import type { SpanDescription } from '../telemetry/tracing/span.ts';

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

/** Matches the verb of a change; FOR UPDATE and FOR NO KEY UPDATE only lock rows. */
const VERB = /(?<!\b(?:FOR|KEY)\s+)\b(INSERT|UPDATE|DELETE|MERGE)\b/i;
const FIRST_WORD = /[a-z]+/i;
/** Matches `schema.table` where a statement reads or changes it. */
const TABLE = /\b(?:FROM|INTO|UPDATE|JOIN)\s+(?:ONLY\s+)?([a-z_]\w*\.[a-z_]\w*)/i;

/** Describes a statement in a trace: what it does and its first table. Its text and its values are left out. */
export function describeStatement(statement: Statement): SpanDescription {
  const text = typeof statement === 'string' ? statement : statement.text;
  const changes = isRead(statement) ? undefined : VERB.exec(text)?.[1];
  const first = FIRST_WORD.exec(text)?.[0] ?? '';
  const operation = (changes ?? (first.toUpperCase() === 'WITH' ? 'SELECT' : first)).toUpperCase();
  const table = TABLE.exec(text)?.[1];
  const name = table === undefined ? operation : `${operation} ${table}`;
  return {
    name,
    attributes: { 'db.system.name': 'postgresql', 'db.operation.name': operation, 'db.query.summary': name },
  };
}

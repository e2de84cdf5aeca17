import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError } from 'pg';

const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;
/** What the statements must not be split at, and what no rule may mistake for SQL: comments and texts in quotes. */
const COMMENT = /--[^\n]*|\/\*[\s\S]*?\*\//;
const QUOTED = /(\$\w*\$)[\s\S]*?\1|'(?:[^']|'')*'/;
const SKIPPED = new RegExp(`${COMMENT.source}|${QUOTED.source}`, 'g');
const CREATES = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS (\w+) ON (\w+)\.\w+ /i;
const DROPS = /^DROP INDEX CONCURRENTLY IF EXISTS \w+\.\w+$/i;

/** What runs outside of a transaction, because it reads or drops a large index without blocking writes. */
export interface ConcurrentStatement {
  /** The index that the statement creates, with its schema; undefined if it drops one. */
  creates: { schema: string; index: string } | undefined;
}

/** Returns the name of the newest migration in a directory, without `.sql`; undefined if there is none. */
export async function newestMigration(directory: string): Promise<string | undefined> {
  return (await migrationNames(directory)).at(-1);
}

/**
 * Returns the names of all migrations in a directory, in the order in which they are applied. Throws if the name of an
 * SQL file is malformed or its number is used twice.
 */
export async function migrationNames(directory: string): Promise<string[]> {
  const files = (await readdir(directory)).filter((file) => file.endsWith('.sql')).sort();
  const numbers = new Set<string>();
  for (const file of files) {
    const number = FILE_NAME.exec(file)?.[1];
    if (number === undefined) throw new Error(`${join(directory, file)}: a migration is named like 0001_links.sql`);
    if (numbers.has(number)) throw new Error(`${join(directory, file)}: there is already a migration ${number}`);
    numbers.add(number);
  }
  return files.map((file) => file.slice(0, -'.sql'.length));
}

/** Returns the statements of an SQL text without comments, with one space between words, and with texts left empty. */
export function statementsOf(text: string): string[] {
  const code = text.replaceAll(SKIPPED, (skipped) => (/^(?:--|\/\*)/.test(skipped) ? ' ' : "''"));
  return code
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
}

/**
 * Returns the statement of a file that creates or drops an index without blocking writes; undefined for a file that
 * runs in a transaction. Throws if such a statement is not alone in its file or could not be repeated.
 */
export function concurrentStatement(text: string): ConcurrentStatement | undefined {
  const statements = statementsOf(text);
  if (!statements.some((statement) => /\bCONCURRENTLY\b/i.test(statement))) return undefined;
  const [statement = '', ...others] = statements;
  const [, index, schema] = CREATES.exec(`${statement} `) ?? [];
  if (others.length > 0 || (index === undefined && !DROPS.test(statement))) {
    throw new Error(
      'CONCURRENTLY needs a file of its own, with one statement: CREATE INDEX CONCURRENTLY IF NOT EXISTS name ON ' +
        'schema.table (…), or DROP INDEX CONCURRENTLY IF EXISTS schema.name',
    );
  }
  return { creates: index === undefined || schema === undefined ? undefined : { schema, index } };
}

/** Returns the path of a migration, with the line that PostgreSQL's error points to, if any. */
export async function placeOf(file: string, error: unknown): Promise<string> {
  if (!(error instanceof DatabaseError) || error.position === undefined) return file;
  const text = await readFile(file, 'utf8');
  return `${file}:${text.slice(0, Number(error.position) - 1).split('\n').length}`;
}

import { Client } from 'pg';
import { runProgram } from './installation.ts';
import type { Server } from './server.ts';

/** The rows of a database at one moment. */
export interface Content {
  /** The number of rows of each table, and a hash of their content. */
  tables: Record<string, string>;
  /** The last value that each sequence has returned. */
  sequences: Record<string, bigint>;
}

const TABLES = `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
  WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY name`;
const SEQUENCES = `SELECT format('%I.%I', schemaname, sequencename) AS name, coalesce(last_value, 0)::text AS last
  FROM pg_sequences ORDER BY name`;
/** The columns that a sequence numbers. */
const NUMBERED = `SELECT d.objid::regclass::text AS sequence, d.refobjid::regclass::text AS table, a.attname AS column
  FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
  JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
  WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')`;

/** Runs some work on a connection of its own. */
export async function connected<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Reads every table of all services. Its rows are those that the transaction of the client sees. */
export async function contentOf(client: Client): Promise<Content> {
  const { rows: sequences } = await client.query<{ name: string; last: string }>(SEQUENCES);
  const { rows: names } = await client.query<{ name: string }>(TABLES);
  const tables: Record<string, string> = {};
  for (const { name } of names) tables[name] = await hashOf(client, name);
  return { tables, sequences: Object.fromEntries(sequences.map(({ name, last }) => [name, BigInt(last)])) };
}

/** The definitions of a database with owners and rights, as statements. */
export async function schemaOf(server: Server, database: string): Promise<string[]> {
  const printed = await runProgram(server.installation, 'pg_dump', ['--schema-only', '--dbname', server.url(database)]);
  // Comments name versions, and `\restrict` has a random word.
  return printed.split('\n').filter((line) => line !== '' && !/^(?:--|\\(?:un)?restrict )/.test(line));
}

/** The sequences whose next value was used before: by a stored row, or before the moment of `earlier`. */
export async function repeatedValues(client: Client, earlier?: Content): Promise<string[]> {
  const { rows: columns } = await client.query<{ sequence: string; table: string; column: string }>(NUMBERED);
  const { rows: sequences } = await client.query<{ name: string }>(SEQUENCES);
  const repeated: string[] = [];
  for (const { name } of sequences) {
    const next = await numberOf(client, `SELECT nextval('${name}') AS number`);
    const used = [earlier?.sequences[name] ?? 0n];
    for (const { table, column } of columns.filter(({ sequence }) => sequence === name)) {
      used.push(await numberOf(client, `SELECT coalesce(max(${column}), 0) AS number FROM ${table}`));
    }
    for (const last of used) if (next <= last) repeated.push(`${name} was at ${last}, and returned ${next}`);
  }
  return repeated;
}

/** The number of tables that have rows. */
export function filledTables({ tables }: Content): number {
  return Object.values(tables).filter((content) => !content.startsWith('0 ')).length;
}

async function hashOf(client: Client, table: string): Promise<string> {
  const { rows } = await client.query<{ content: string }>(`
    SELECT count(*) || ' rows, ' || md5(coalesce(string_agg(hash, '' ORDER BY hash), '')) AS content
    FROM (SELECT md5(t::text) AS hash FROM ${table} t) hashes`);
  return rows[0]?.content ?? '';
}

async function numberOf(client: Client, statement: string): Promise<bigint> {
  const { rows } = await client.query<{ number: string }>(statement);
  return BigInt(rows[0]?.number ?? 0);
}

import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { allNodes, type Plan, scanOf } from '#test/postgres/explain.ts';

/** Rows from which a table is large; PostgreSQL prefers sequential scans for smaller tables. */
const LARGE = 10_000;

/** PostgreSQL settings that allow `logPlans` to log plans. */
export const PLAN_SETTINGS = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_format': 'json',
  'auto_explain.log_nested_statements': 'off',
};

/** An executed statement and its scans. */
export interface Planned {
  statement: string;
  scans: string[];
  /** Large tables that it read completely. */
  whole: string[];
}

/** Starts or stops writing the plan of every statement to the server's log. */
export async function logPlans(url: string, on: boolean): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`ALTER SYSTEM SET auto_explain.log_min_duration = ${on ? 0 : -1}`);
    await client.query('SELECT pg_reload_conf()');
  } finally {
    await client.end();
  }
}

/** Returns the statements on services' tables in a server's log, each once. */
export async function plansIn(url: string, logFile: string): Promise<Planned[]> {
  const large = await largeTables(url);
  const found = new Map<string, Planned>();
  for (const [, text = ''] of readFileSync(logFile, 'utf8').matchAll(/ plan:\n((?:\t.*\n)+)/g)) {
    const { 'Query Text': query, Plan: plan } = JSON.parse(text.replaceAll(/^\t/gm, '')) as {
      'Query Text': string;
      Plan: Plan;
    };
    const statement = query.replaceAll(/\s+/g, ' ').trim();
    const nodes = allNodes(plan);
    const scans = nodes.filter((node) => node['Relation Name'] || node['Index Name']).map(scanOf);
    const whole = nodes
      .filter((node) => node['Node Type'] === 'Seq Scan' && large.has(node['Relation Name'] ?? ''))
      .map((node) => node['Relation Name'] as string);
    if (scans.length > 0) found.set(`${statement} ${scans.join()}`, { statement, scans, whole });
  }
  return [...found.values()];
}

async function largeTables(url: string): Promise<Set<string>> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND reltuples >= ${LARGE}`,
    );
    return new Set(rows.map(({ name }) => name));
  } finally {
    await client.end();
  }
}

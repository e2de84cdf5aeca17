import type { Database, Prepared, Queryable } from '#kit/postgres/pool.ts';

/** A node of a query plan. */
export interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  Plans?: Plan[];
  /** Set for a node of Citus: the plan of the server that executes the statement, for one of the shards. */
  'Distributed Query'?: { Job: { Tasks?: { 'Remote Plan'?: { Plan: Plan }[][] }[] } };
}

interface Explained {
  'QUERY PLAN': { Plan: Plan }[];
}

const EXPLAIN = 'EXPLAIN (FORMAT JSON)';

/** Without bitmap heap scans, which only fetch the rows that the bitmap index scan below them found. */
const READS_A_TABLE = /^(Seq|Index|Index Only|Bitmap Index|Tid|Sample) Scan$/;

/** How a statement reads its tables: the name of each index, or `Seq Scan of table`. Changes no rows. */
export async function scansOf(database: Database, statement: (on: Queryable) => Promise<unknown>): Promise<string[]> {
  const plans = await plansOf(database, statement);
  return plans.filter((plan) => READS_A_TABLE.test(plan['Node Type'])).map(scanOf);
}

/** The nodes of a statement's plan, from the top: the type of each, and its index if it uses one. */
export async function nodesOf(database: Database, statement: (on: Queryable) => Promise<unknown>): Promise<string[]> {
  const plans = await plansOf(database, statement);
  return plans.map((plan) => [plan['Node Type'], indexOf(plan)].filter(Boolean).join(' '));
}

/**
 * The number of runs, out of ten on a pool of one connection, in which a prepared statement used its generic plan:
 * PostgreSQL uses it after five runs at the earliest. Changes no rows.
 */
export async function countGenericPlanRuns(
  database: Database,
  statement: (on: Queryable) => Promise<unknown>,
): Promise<number> {
  const taken = async () => {
    const text = 'SELECT sum(generic_plans)::int AS plans FROM pg_prepared_statements WHERE from_sql = false';
    return (await database.query<{ plans: number | null }>(text))[0]?.plans ?? 0;
  };
  const before = await taken();
  for (let time = 0; time < 10; time++) {
    await database.query('BEGIN');
    await statement(database);
    await database.query('ROLLBACK');
  }
  return (await taken()) - before;
}

/** The cost of a reading statement. */
export interface Cost {
  /** Pages of 8 KiB that were read, from memory or from disk. */
  pages: number;
  /** Rows that were read and did not match. */
  discarded: number;
}

interface Analyzed extends Plan {
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Actual Loops': number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
}

/** Runs a reading statement and counts the pages and rows that it read. */
export async function costOf(database: Database, statement: (on: Queryable) => Promise<unknown>): Promise<Cost> {
  const cost: Cost = { pages: 0, discarded: 0 };
  await statement({
    query: async (asked, values = []) => {
      const text = typeof asked === 'string' ? asked : asked.text;
      const rows = await database.query<Explained>(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values);
      for (const { Plan: top } of rows.flatMap((row) => row['QUERY PLAN'])) {
        const nodes = allNodes(top) as Analyzed[];
        cost.pages += (nodes[0]?.['Shared Hit Blocks'] ?? 0) + (nodes[0]?.['Shared Read Blocks'] ?? 0);
        for (const node of nodes) {
          const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
          cost.discarded += removed * node['Actual Loops'];
        }
      }
      return [];
    },
  });
  return cost;
}

async function plansOf(database: Database, statement: (on: Queryable) => Promise<unknown>): Promise<Plan[]> {
  const plans: Plan[] = [];
  await statement({
    isDistributed: async () => (await database.isDistributed?.()) ?? false,
    query: async (asked, values = []) => {
      // A setting of the transaction has no plan.
      if (typeof asked === 'string' && asked.startsWith('SET LOCAL')) return database.query(asked);
      const isPrepared = typeof asked === 'object' && 'name' in asked && !(await database.isDistributed?.());
      const rows = await (isPrepared
        ? explainPrepared(database, asked, values.length)
        : database.query<Explained>(`${EXPLAIN} ${typeof asked === 'string' ? asked : asked.text}`, values));
      plans.push(...rows.flatMap((row) => row['QUERY PLAN'].map(({ Plan }) => Plan)));
      return [];
    },
  });
  return plans.flatMap(allNodes);
}

/** A node and its descendants. Nodes of Citus are left out: they send statements to servers, and read no tables themselves. */
export function allNodes(plan: Plan): Plan[] {
  const distributed = plan['Distributed Query'];
  const tasks = (distributed?.Job.Tasks ?? []).flatMap((task) => task['Remote Plan'] ?? []);
  const below = [...(plan.Plans ?? []), ...tasks.flat().map((explained) => explained.Plan)].flatMap(allNodes);
  return distributed ? below : [plan, ...below];
}

/** The name of a node's index, on a Citus cluster without the number of the shard. */
function indexOf(plan: Plan): string | undefined {
  return plan['Index Name']?.replace(/_\d{6,}$/, '');
}

/** How a node reads its table: the name of its index, or `Seq Scan of table`. */
export function scanOf(plan: Plan): string {
  return indexOf(plan) ?? `${plan['Node Type']} of ${plan['Relation Name']}`;
}

/** The generic plan, which is made without parameter values. */
function explainPrepared(database: Database, { text }: Prepared, parameters: number): Promise<Explained[]> {
  return database.transaction(async (transaction) => {
    await transaction.query('SET LOCAL plan_cache_mode = force_generic_plan');
    await transaction.query(`PREPARE explained AS ${text}`);
    const values = Array(parameters).fill('NULL').join();
    const rows = await transaction.query<Explained>(`${EXPLAIN} EXECUTE explained(${values})`);
    await transaction.query('DEALLOCATE explained');
    return rows;
  });
}

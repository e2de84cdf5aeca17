import type { Client } from 'pg';
import type { Report } from '#kit/postgres/lock-watch.ts';
import { openMigrationSession, takeAdvisoryLock } from '#kit/postgres/migration-session.ts';
import { CLOCK_SCHEMA, CLOCK_SETTING, CREATE_CLOCK } from './clock.ts';
import { MIGRATIONS_TABLE, PLACEMENTS } from './placements.ts';

/** Advisory lock, so that two migrations do not distribute concurrently; the number is arbitrary. */
const LOCK = 5_042_017_329;
/** Distributing a table takes about as long as creating its shards. */
const NO_LOCK_TIMEOUT = 'SET lock_timeout = 0';

/**
 * Distributes all tables of some schemas over the nodes of a Citus cluster: by `guild_id`, as reference tables, or not
 * at all (placements.ts). Tables that are distributed already stay as they are. Returns what was done, in words.
 */
export async function distributeTables(
  url: string,
  schemas: readonly string[],
  { report = () => {} }: { report?: Report | undefined } = {},
): Promise<string[]> {
  const client = await openMigrationSession(url);
  try {
    await takeAdvisoryLock(client, LOCK, report);
    await client.query(NO_LOCK_TIMEOUT);
    await checkCluster(client);
    const done = await hideClock(client);
    for (const table of await undistributed(client, schemas)) {
      await distribute(client, table);
      done.push(describe(table));
    }
    return done;
  } finally {
    await client.end();
  }
}

interface Table {
  name: string;
  hasGuild: boolean;
}

async function checkCluster(client: Client): Promise<void> {
  const { rows } = await client.query<{ version: string | null; triggers: string | null; role: string }>(
    `SELECT (SELECT extversion FROM pg_extension WHERE extname = 'citus') AS version,
       current_setting('citus.enable_unsafe_triggers', true) AS triggers, current_user AS role`,
  );
  const [{ version = null, triggers = null } = {}] = rows;
  if (version === null) throw new Error('CITUS is true, but the database lacks the extension: CREATE EXTENSION citus');
  // Our triggers change rows of the same guild, which are on the same node.
  if (triggers !== 'on') throw new Error('set citus.enable_unsafe_triggers = on in postgresql.conf of each node');
}

/** Makes the database use our clock (clock.ts); returns what was done. */
async function hideClock(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ exists: boolean; database: string }>(
    'SELECT to_regnamespace($1) IS NOT NULL AS exists, current_database() AS database',
    [CLOCK_SCHEMA],
  );
  const [{ exists = false, database = '' } = {}] = rows;
  if (exists) return [];
  for (const statement of CREATE_CLOCK) await client.query(statement);
  await client.query(`ALTER DATABASE ${client.escapeIdentifier(database)} SET ${CLOCK_SETTING}`);
  return ['created the clock for statements that change several nodes'];
}

/** The tables that are still to be distributed, in an order in which each foreign key refers to an earlier table. */
async function undistributed(client: Client, schemas: readonly string[]): Promise<Table[]> {
  const { rows } = await client.query<Table>(
    `WITH RECURSIVE tables AS (
       SELECT pg_class.oid, format('%I.%I', nspname, relname) AS name,
         EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'guild_id') AS "hasGuild"
       FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
       WHERE relkind IN ('r', 'p') AND NOT relispartition AND nspname = ANY($1) AND relname <> $2
     ), depths AS (
       SELECT oid, 0 AS depth FROM tables
       UNION
       SELECT conrelid, depth + 1 FROM depths JOIN pg_constraint ON confrelid = depths.oid
       WHERE contype = 'f' AND conrelid <> confrelid AND depth < 10
     )
     SELECT name, "hasGuild" FROM tables JOIN depths USING (oid)
     WHERE NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = tables.oid)
     GROUP BY name, "hasGuild" ORDER BY name = ANY($3) DESC, max(depth), name`,
    [schemas, MIGRATIONS_TABLE, referenceTables()],
  );
  const unplaced = rows.filter(({ name, hasGuild }) => !hasGuild && !PLACEMENTS[name]);
  if (unplaced.length > 0) {
    throw new Error(
      `${unplaced.map(({ name }) => name).join(', ')}: no guild_id, and not in deploy/citus/placements.ts`,
    );
  }
  return rows.filter(({ name }) => PLACEMENTS[name]?.kind !== 'local');
}

const referenceTables = () =>
  Object.entries(PLACEMENTS).flatMap(([name, { kind }]) => (kind === 'reference' ? [name] : []));

/** In one statement, so that an interruption leaves the table as it was. */
async function distribute(client: Client, { name }: Table): Promise<void> {
  if (PLACEMENTS[name]) {
    await client.query('SELECT create_reference_table($1::regclass)', [name]);
    return;
  }
  const { rows } = await client.query<{ name: string }>(
    `SELECT logicalrelid::text AS name FROM pg_dist_partition WHERE partmethod = 'h' ORDER BY 1 LIMIT 1`,
  );
  await client.query(`SELECT create_distributed_table($1::regclass, 'guild_id', colocate_with => $2)`, [
    name,
    rows[0]?.name ?? 'none',
  ]);
}

const describe = ({ name }: Table) =>
  PLACEMENTS[name] ? `copied ${name} to all nodes` : `distributed ${name} by guild_id`;

import type { Client } from 'pg';
import type { Report } from '#kit/postgres/migrations/lock-watch.ts';
import { openMigrationSession, takeAdvisoryLock } from '#kit/postgres/migrations/session.ts';
import { CLOCK_SCHEMA, CREATE_CLOCK, SETTINGS } from './clock.ts';
import { MIGRATIONS_TABLE, PLACEMENTS } from './placements.ts';

/** Advisory lock, so that two migrations do not distribute concurrently; the number is arbitrary. */
const LOCK = 5_042_017_329;
/** Waits for the lock of a table without a limit: the sessions that hold it end their statements by their own timeouts. */
const NO_LOCK_TIMEOUT = 'SET lock_timeout = 0';

/**
 * Distributes all tables of some schemas over the nodes of a Citus cluster: by `guild_id`, as reference tables, or not
 * at all (placements.ts). Tables that are already distributed are not changed. Returns a line of text for each change.
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
    const done = await prepareDatabase(client);
    for (const table of await undistributed(client, schemas)) {
      await distribute(client, table);
      done.push(describe(table));
    }
    return done;
  } finally {
    await client.end();
  }
}

async function checkCluster(client: Client): Promise<void> {
  const { rowCount: extensions } = await client.query(`SELECT FROM pg_extension WHERE extname = 'citus'`);
  if (extensions === 0) {
    throw new Error(
      'CITUS is true, but the database lacks the extension citus: CREATE EXTENSION citus (deploy/operations/citus.md)',
    );
  }
  const { rowCount: workers } = await client.query(
    `SELECT FROM pg_dist_node WHERE noderole = 'primary' AND shouldhaveshards`,
  );
  if (workers === 0) {
    throw new Error('CITUS is true, but the cluster has no workers: citus_add_node (deploy/operations/citus.md)');
  }
}

/** Creates the clock and the settings of the database, also for this session. Returns a line of text if it made the clock. */
async function prepareDatabase(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ exists: boolean; database: string }>(
    'SELECT to_regnamespace($1) IS NOT NULL AS exists, current_database() AS database',
    [CLOCK_SCHEMA],
  );
  const [found] = rows;
  if (!found) throw new Error('the database did not return its name');
  await client.query('BEGIN');
  if (!found.exists) for (const statement of CREATE_CLOCK) await client.query(statement);
  for (const [name, value] of Object.entries(SETTINGS)) {
    await client.query(`ALTER DATABASE ${client.escapeIdentifier(found.database)} SET ${name} = ${value}`);
    await client.query(`SET ${name} = ${value}`);
  }
  await client.query('COMMIT');
  return found.exists ? [] : ['created the clock of the coordinator'];
}

/**
 * The tables that are still to be distributed. Each foreign key refers to an earlier table, and those with triggers come
 * last, because the functions of triggers use other tables.
 */
async function undistributed(client: Client, schemas: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string; hasGuild: boolean }>(
    `WITH RECURSIVE tables AS (
       SELECT pg_class.oid, format('%I.%I', nspname, relname) AS name,
         EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'guild_id') AS "hasGuild",
         EXISTS (SELECT FROM pg_trigger WHERE tgrelid = pg_class.oid AND NOT tgisinternal) AS has_triggers
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
     GROUP BY name, "hasGuild", has_triggers ORDER BY name = ANY($3) DESC, has_triggers, max(depth), name`,
    [schemas, MIGRATIONS_TABLE, referenceTables()],
  );
  const unplaced = rows.filter(({ name, hasGuild }) => !hasGuild && !PLACEMENTS[name]);
  if (unplaced.length > 0) {
    throw new Error(
      `${unplaced.map(({ name }) => name).join(', ')}: no guild_id, and not in deploy/citus/placements.ts`,
    );
  }
  return rows.map(({ name }) => name).filter((name) => PLACEMENTS[name]?.kind !== 'local');
}

const referenceTables = () =>
  Object.entries(PLACEMENTS).flatMap(([name, { kind }]) => (kind === 'reference' ? [name] : []));

/**
 * Moves the rows of a table in one transaction, so that an interruption leaves the table as it was. Its triggers exist
 * again afterwards: they would change and count the rows that are moved, as if they were new.
 */
async function distribute(client: Client, table: string): Promise<void> {
  const { rows: triggers } = await client.query<{ drop: string; create: string }>(
    `SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass) AS drop, pg_get_triggerdef(oid) AS create
     FROM pg_trigger WHERE tgrelid = $1::regclass AND NOT tgisinternal ORDER BY tgname`,
    [table],
  );
  await client.query('BEGIN');
  try {
    for (const { drop } of triggers) await client.query(drop);
    await moveRows(client, table);
    for (const { create } of triggers) await client.query(create);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

async function moveRows(client: Client, table: string): Promise<void> {
  if (PLACEMENTS[table]) {
    await client.query('SELECT create_reference_table($1::regclass)', [table]);
    return;
  }
  const { rows } = await client.query<{ name: string }>(
    `SELECT logicalrelid::text AS name FROM pg_dist_partition WHERE partmethod = 'h' ORDER BY 1 LIMIT 1`,
  );
  await client.query(`SELECT create_distributed_table($1::regclass, 'guild_id', colocate_with => $2)`, [
    table,
    rows[0]?.name ?? 'none',
  ]);
}

const describe = (table: string) =>
  PLACEMENTS[table] ? `copied ${table} to all nodes` : `distributed ${table} by guild_id`;

// The migrations with CITUS=true, on a cluster of a coordinator and two workers.
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { allMigrations } from '../../deploy/all-migrations.ts';
import { PLACEMENTS } from '../../deploy/citus/placements.ts';
import { migrateAll } from '../../deploy/migrate.ts';
import { databaseRows } from '../postgres/database.ts';
import { createCitusDatabase } from './cluster.ts';
import { migrate, type Program } from './migrate-program.ts';

const GUILDS = Array.from({ length: 20 }, (_, number) => `9000000000000000${10 + number}`);
const [GUILD = ''] = GUILDS;
const SERVICES = allMigrations().map(({ service }) => service);
const suffix = randomBytes(4).toString('hex');
const DATABASE = `moved_${suffix}`;
const ROLE = `auth_${suffix}`;
const PASSWORD = 'only-for-this-test';
let url: string;
let first: Program;
let heads: object[];

/** The end of each chain of the audit, which a trigger moves. */
const HEADS = 'SELECT guild_id, sequence, chain FROM auth.audit_heads ORDER BY guild_id';

const query = <Row extends object>(text: string, values: unknown[] = []) => databaseRows<Row>(url, text, values);

async function count(table: string): Promise<number> {
  const [row] = await query<{ rows: number }>(`SELECT count(*)::int AS rows FROM ${table}`);
  return row?.rows ?? 0;
}

const environment = () => ({
  DATABASE_URL: url,
  CITUS: 'true',
  AUTH_DATABASE_USER: ROLE,
  AUTH_DATABASE_PASSWORD: PASSWORD,
});

// A database that was in use before it is distributed, with rows that triggers count and that foreign keys connect.
beforeAll(async () => {
  url = await createCitusDatabase(inject('databaseNodes'), DATABASE);
  await migrateAll(url);
  for (const guild of GUILDS) {
    await query('INSERT INTO auth.guilds (guild_id, next_number) VALUES ($1, 2)', [guild]);
    await query(
      `INSERT INTO auth.keys (guild_id, number, name, ip_allowlist, created_at, version, changed_at)
       VALUES ($1, 1, 'k', '{}', now(), 1, now())`,
      [guild],
    );
    await query(`INSERT INTO auth.key_secrets (guild_id, hash, number, prefix) VALUES ($1, '\\x01', 1, 'p')`, [guild]);
    await audit(query, guild);
    await query(
      `INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
       SELECT $1, n, n, 'name', n, now(), now() FROM generate_series(1, 5) AS n`,
      [guild],
    );
  }
  await query(`SELECT events.create_partition('log', '2026-01-05')`);
  await query(
    `INSERT INTO events.log (guild_id, day, seq, id, type, created_at, source, persons, data, size)
     VALUES ($1, '2026-01-05', 1, gen_random_uuid(), 'ban.created', now(), '{}', '{}', '{}', 2)`,
    [GUILD],
  );
  heads = await query(HEADS);
  first = await migrate(environment());
});

afterAll(async () => {
  const [coordinator, ...workers] = inject('databaseNodes');
  for (const node of [coordinator, ...workers]) {
    if (node) await databaseRows(node, `DROP DATABASE IF EXISTS ${DATABASE} WITH (FORCE)`);
  }
  for (const node of [coordinator, ...workers]) if (node) await databaseRows(node, `DROP ROLE IF EXISTS ${ROLE}`);
});

const audit = (run: (text: string, values: unknown[]) => Promise<unknown>, guild: string) =>
  run(`INSERT INTO auth.audit (guild_id, at, actor, action, details) VALUES ($1, now(), 'me', 'test', '{"a": 1}')`, [
    guild,
  ]);

test('every table is distributed by guild_id and placed together, copied to each node, or local as declared', async () => {
  expect(first).toMatchObject({ status: 0 });
  const tables = await query<{ name: string; kind: string; column: string | null; colocation: number }>(
    `SELECT format('%I.%I', nspname, relname) AS name,
       CASE partmethod WHEN 'h' THEN 'distributed' WHEN 'n' THEN 'reference' ELSE 'local' END AS kind,
       column_to_column_name(logicalrelid, partkey) AS column, colocationid AS colocation
     FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
     LEFT JOIN pg_dist_partition ON logicalrelid = pg_class.oid
     WHERE relkind IN ('r', 'p') AND NOT relispartition AND nspname = ANY($1) AND relname <> 'schema_migrations'`,
    [SERVICES],
  );
  expect(tables.length).toBeGreaterThan(70);
  for (const { name, kind } of tables) expect([name, kind]).toEqual([name, PLACEMENTS[name]?.kind ?? 'distributed']);
  const distributed = tables.filter(({ kind }) => kind === 'distributed');
  expect(new Set(distributed.map(({ column }) => column))).toEqual(new Set(['guild_id']));
  expect(new Set(distributed.map(({ colocation }) => colocation)).size).toBe(1);
});

test('rows from before are moved to both workers, with what triggers have counted', async () => {
  expect(await count('auth.keys')).toBe(GUILDS.length);
  expect(await count('auth.key_secrets')).toBe(GUILDS.length);
  expect(await count('events.log')).toBe(1);
  expect(await query('SELECT sum(count)::int AS links FROM lookup.link_counts')).toEqual([
    { links: 5 * GUILDS.length },
  ]);
  expect(await query(HEADS)).toEqual(heads);
  expect(await query('SELECT guild_id, sequence, chain FROM auth.audit ORDER BY guild_id')).toEqual(heads);
  const nodes = await query<{ nodename: string; nodeport: number }>(
    `SELECT DISTINCT nodename, nodeport FROM citus_shards WHERE table_name = 'auth.keys'::regclass`,
  );
  expect(nodes.length).toBe(2);
});

test('a second run changes nothing', async () => {
  expect(await migrate(environment())).toEqual({ status: 0, lines: ['nothing to migrate'] });
});

test('triggers run on the node of the guild: the audit continues its chain, and links are counted', async () => {
  for (const guild of GUILDS) await audit(query, guild);
  const chains = await query<{ guild: string; entries: number; last: number }>(
    `SELECT guild_id AS guild, count(*)::int AS entries, max(sequence)::int AS last FROM auth.audit GROUP BY 1`,
  );
  expect(chains.map(({ entries, last }) => [entries, last])).toEqual(GUILDS.map(() => [2, 2]));
  await query('DELETE FROM lookup.links WHERE guild_id = $1 AND game_id > 2', [GUILD]);
  const counted = 'SELECT sum(count)::int AS links FROM lookup.link_counts WHERE guild_id = $1';
  expect(await query(counted, [GUILD])).toEqual([{ links: 2 }]);
});

test('foreign keys and unique indexes hold, and identity columns count on', async () => {
  const duplicate = query(
    `INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
     VALUES ($1, '77', 1, 'name', 9, now(), now())`,
    [GUILD],
  );
  await expect(duplicate).rejects.toThrow('links_game');
  const [last = ''] = GUILDS.slice(-1);
  await query('DELETE FROM auth.guilds WHERE guild_id = $1', [last]);
  expect(await query('SELECT FROM auth.key_secrets WHERE guild_id = $1', [last])).toEqual([]);
  const ids = await query<{ id: number }>('SELECT id::int FROM auth.audit ORDER BY id');
  expect(new Set(ids.map(({ id }) => id)).size).toBe(ids.length);
});

test('the role of a service has the rights on the workers that it has on the coordinator, and no more', async () => {
  const own = new URL(url);
  own.username = ROLE;
  own.password = PASSWORD;
  const client = new Client({ connectionString: own.href });
  await client.connect();
  try {
    await audit((text, values) => client.query(text, values), GUILD);
    const keys = await client.query('SELECT number FROM auth.keys WHERE guild_id = $1', [GUILD]);
    expect(keys.rows).toEqual([{ number: 1 }]);
    const erased = await client.query('SELECT auth.erase_audit_of_guild($1, 100) AS rows', [GUILD]);
    expect(erased.rows).toEqual([{ rows: 3 }]);
    for (const statement of [
      'DELETE FROM auth.audit WHERE guild_id = $1',
      'UPDATE auth.audit_heads SET sequence = 9 WHERE guild_id = $1',
      'DELETE FROM lookup.links WHERE guild_id = $1',
    ]) {
      await expect(client.query(statement, [GUILD])).rejects.toThrow('permission denied');
    }
  } finally {
    await client.end();
  }
});

test('a table and an index of a later migration are distributed by the next run', async () => {
  await query('CREATE TABLE lookup.later (guild_id text COLLATE "C", id bigint GENERATED ALWAYS AS IDENTITY)');
  await query('INSERT INTO lookup.later (guild_id) SELECT unnest($1::text[])', [GUILDS]);
  await query('CREATE INDEX CONCURRENTLY later_id ON lookup.later (id)');
  await query('ALTER TABLE lookup.links ADD COLUMN later text');
  await query('CREATE INDEX CONCURRENTLY links_later ON lookup.links (guild_id, later)');
  expect(await migrate(environment())).toEqual({
    status: 0,
    lines: ['nothing to migrate', 'distributed lookup.later by guild_id'],
  });
  expect(await count('lookup.later')).toBe(GUILDS.length);
});

test('partitions of events are created and dropped on all nodes', async () => {
  expect(await query(`SELECT events.create_partition('log', '2026-01-06') AS made`)).toEqual([{ made: true }]);
  const parts = await query<{ partitions: number }>(
    `SELECT count(*)::int AS partitions FROM pg_dist_partition WHERE logicalrelid::text LIKE 'events.log_%'`,
  );
  expect(parts).toEqual([{ partitions: 2 }]);
  const drop = `SELECT events.drop_partition('log', '2026-01-06') AS dropped`;
  expect(await query(drop)).toEqual([{ dropped: 'log_20260105' }]);
  expect(await count('events.log')).toBe(0);
});

test('a table without a guild that is not declared is an error', async () => {
  await query('CREATE TABLE lookup.stray (id bigint)');
  const { status, lines } = await migrate(environment());
  expect([status, lines.at(-1)]).toEqual([1, 'lookup.stray: no guild_id, and not in deploy/citus/placements.ts']);
  await query('DROP TABLE lookup.stray');
});

test('without the extension, or without workers, the error says what to do', async () => {
  const server = inject('postgresUrl');
  const name = `without_${suffix}`;
  await databaseRows(server, `CREATE DATABASE ${name}`);
  const other = new URL(server);
  other.pathname = `/${name}`;
  const lacking = { DATABASE_URL: other.href, CITUS: 'true' };
  expect((await migrate(lacking)).lines.at(-1)).toContain('lacks the extension citus: CREATE EXTENSION citus');
  await databaseRows(other.href, 'CREATE EXTENSION citus');
  const { status, lines } = await migrate(lacking);
  expect(status).toBe(1);
  expect(lines.at(-1)).toContain('has no workers: citus_add_node');
  await databaseRows(server, `DROP DATABASE ${name} WITH (FORCE)`);
});

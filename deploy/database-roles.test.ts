import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { PATIENCE } from '#test/patience.ts';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { allMigrations } from './all-migrations.ts';
import { grantOnNewTables, prepareRoles, rolesOf } from './database-roles.ts';

const PASSWORD = 'pässword "with" \'quotes\' and %';
const suffix = randomBytes(4).toString('hex');
const lookup = { service: 'lookup', user: `role_lookup_${suffix}`, password: PASSWORD };
const auth = { service: 'auth', user: `role_auth_${suffix}`, password: PASSWORD };

let database: TestDatabase;
let made: string[];

beforeAll(async () => {
  database = await createTestDatabase();
  made = await prepareRoles(database.url, [lookup, auth]);
});

afterAll(async () => {
  for (const { user } of [lookup, auth]) await databaseRows(database.url, `DROP OWNED BY ${user}`);
  for (const { user } of [lookup, auth]) await databaseRows(database.url, `DROP ROLE ${user}`);
  await database.drop();
});

/** The database as a role sees it. */
function as(user: string, password = PASSWORD): string {
  const url = new URL(database.url);
  url.username = user;
  url.password = encodeURIComponent(password);
  return url.href;
}

test('roles that are not there are made', () => {
  expect(made).toEqual([`made the role ${lookup.user}`, `made the role ${auth.user}`]);
});

test('a role signs in with its password, whatever is in it, and reads its own tables', async () => {
  expect(await databaseRows(as(lookup.user), 'SELECT count(*)::int AS count FROM lookup.links')).toEqual([
    { count: 0 },
  ]);
  expect(
    await databaseRows(as(lookup.user), "SELECT 1 FROM lookup.schema_migrations WHERE name LIKE '0001%'"),
  ).toHaveLength(1);
});

test.each([
  ['reads', 'SELECT 1 FROM lookup.links'],
  ['changes', 'DELETE FROM lookup.links'],
])('a role never %s what belongs to another service', async (_, statement) => {
  await expect(databaseRows(as(auth.user), statement)).rejects.toThrow(/permission denied/);
});

test.each([
  ['drops a table', 'DROP TABLE lookup.links'],
  ['adds a table', 'CREATE TABLE lookup.other (id int)'],
  ['says what was migrated', "DELETE FROM lookup.schema_migrations WHERE name = '0001'"],
])('a role never %s of its own service', async (_, statement) => {
  await expect(databaseRows(as(lookup.user), statement)).rejects.toThrow(/permission denied|must be owner/);
});

test('a role may use a table of a later migration at once, before rights are granted again', async () => {
  const absent = { service: 'lookup', user: `role_absent_${suffix}`, password: undefined };
  const unknown = { ...lookup, service: 'unknown' };
  await grantOnNewTables(database.url, [lookup, absent, unknown]);
  await databaseRows(database.url, 'CREATE TABLE lookup.later (id integer GENERATED ALWAYS AS IDENTITY, name text)');
  await databaseRows(as(lookup.user), "INSERT INTO lookup.later (name) VALUES ('a')");
  await databaseRows(as(lookup.user), "UPDATE lookup.later SET name = 'b'");
  expect(await databaseRows(as(lookup.user), 'SELECT name FROM lookup.later')).toEqual([{ name: 'b' }]);
  await databaseRows(as(lookup.user), 'DELETE FROM lookup.later');
  await expect(databaseRows(as(auth.user), 'SELECT 1 FROM lookup.later')).rejects.toThrow(/permission denied/);
});

/** Tables that a service may not write as it likes; see the tests of the audit. */
const APPEND_ONLY = ['auth.audit', 'auth.audit_heads', 'auth.audit_checkpoints', 'auth.operators'];

describe('the audit, for auth as it signs in', () => {
  const append = `INSERT INTO auth.audit (guild_id, at, actor, action, details)
    VALUES ('900000000000000001', now(), 'ada', 'update', '{"game_id": 7001}')`;

  test('takes entries, to which the database gives their place', async () => {
    await databaseRows(as(auth.user), append);
    await databaseRows(
      as(auth.user),
      `INSERT INTO auth.audit (guild_id, at, actor, action, details, sequence, chain)
      VALUES ('900000000000000001', now(), 'ada', 'update', '{}', 99, 'forged')`,
    );
    const entries = await databaseRows<{ sequence: string; length: number }>(
      as(auth.user),
      'SELECT sequence, length(chain) FROM auth.audit ORDER BY sequence',
    );
    expect(entries).toEqual([
      { sequence: '1', length: 32 },
      { sequence: '2', length: 32 },
    ]);
  });

  test.each([
    [`UPDATE auth.audit SET actor = 'eve'`],
    ['DELETE FROM auth.audit'],
    ['TRUNCATE auth.audit'],
    ['ALTER TABLE auth.audit DISABLE TRIGGER ALL'],
    ['UPDATE auth.audit_heads SET sequence = 1'],
    [`INSERT INTO auth.audit_heads VALUES ('900000000000000002', 1, '')`],
    ['DELETE FROM auth.audit_checkpoints'],
    ['DELETE FROM auth.operators'],
    [`SET session_replication_role = 'replica'`],
  ])('refuses %s', async (statement) => {
    await databaseRows(as(auth.user), append);
    await expect(databaseRows(as(auth.user), statement)).rejects.toThrow(/permission denied|must be owner/);
  });

  test('loses what it says of a person by the function for that alone, and nothing that is young', async () => {
    const erase = `SELECT auth.erase_audit_of_user('900000000000000001', 7001, null, 1000) AS rows`;
    const [erased] = await databaseRows<{ rows: number }>(as(auth.user), erase);
    expect(erased?.rows).toBeGreaterThan(0);
    await databaseRows(
      as(auth.user),
      `INSERT INTO auth.audit_checkpoints VALUES ('900000000000000001', 1, 'key', '', now(), '')`,
    );
    const prune = `SELECT auth.prune_audit('900000000000000001', 1) AS rows`;
    expect(await databaseRows(as(auth.user), prune)).toEqual([{ rows: 0 }]);
    await expect(databaseRows(as(lookup.user), erase)).rejects.toThrow(/permission denied/);
  });
});

test('every service may write each of its tables', async () => {
  const roles = allMigrations().map(({ service }) => ({ service, user: lookup.user, password: undefined }));
  await prepareRoles(database.url, roles);
  const missing = await databaseRows(
    database.url,
    `SELECT schemaname || '.' || tablename AS name FROM pg_tables
     WHERE schemaname = ANY ($2) AND tablename <> 'schema_migrations' AND schemaname || '.' || tablename <> ALL ($3)
       AND NOT has_table_privilege($1, schemaname || '.' || tablename, 'SELECT, INSERT, UPDATE, DELETE')`,
    [lookup.user, roles.map(({ service }) => service), APPEND_ONLY],
  );
  expect(missing).toEqual([]);
});

test('preparing again changes nothing; another password is set, and the old one is refused', async () => {
  const verifier = `SELECT rolpassword FROM pg_authid WHERE rolname = '${auth.user}'`;
  const before = await databaseRows(database.url, verifier);
  expect(await prepareRoles(database.url, [auth])).toEqual([]);
  expect(await databaseRows(database.url, verifier)).toEqual(before);
  expect(await prepareRoles(database.url, [{ ...auth, password: 'another' }])).toEqual([
    `set the password of the role ${auth.user}`,
  ]);
  await databaseRows(as(auth.user, 'another'), 'SELECT 1 FROM auth.schema_migrations');
});

test('a role that may not sign in gets LOGIN and its password', async () => {
  await databaseRows(database.url, `ALTER ROLE ${lookup.user} NOLOGIN`);
  expect(await prepareRoles(database.url, [lookup])).toEqual([`set the password of the role ${lookup.user}`]);
  await databaseRows(as(lookup.user), 'SELECT 1 FROM lookup.schema_migrations');
});

test('while another session changes the rights on a table, roles are tried again', async () => {
  const other = new Client({ connectionString: database.url });
  await other.connect();
  await other.query('BEGIN');
  await other.query(`GRANT TRUNCATE ON lookup.links TO ${lookup.user}`);
  const reports: string[] = [];
  const running = prepareRoles(database.url, [lookup], { report: (line) => reports.push(line) });
  await Promise.race([running, vi.waitFor(() => expect(reports).toHaveLength(1), PATIENCE)]);
  expect(reports[0]).toMatch(new RegExp(`^the role ${lookup.user} is tried again in .* lock timeout$`));
  await other.query('ROLLBACK');
  await other.end();
  expect(await running).toEqual([]);
});

test('a role without a password is the operator’s: it is granted, not made', async () => {
  const theirs = { service: 'lookup', user: `theirs_${suffix}`, password: undefined };
  await expect(prepareRoles(database.url, [theirs])).rejects.toThrow(/does not exist/);
});

test('roles are read from the environment, and a service without one has none', () => {
  const environment = { AUTH_DATABASE_USER: 'a', AUTH_DATABASE_PASSWORD: 'p', LOOKUP_DATABASE_USER: 'l' };
  expect(rolesOf(['auth', 'bindings', 'lookup'], environment, 'postgres://owner@a:1,b:2/guild')).toEqual([
    { service: 'auth', user: 'a', password: 'p' },
    { service: 'lookup', user: 'l', password: undefined },
  ]);
});

test('roles that the owner or another service has, and a password without a role, are faults of the configuration', () => {
  const environment = {
    AUTH_DATABASE_USER: 'the owner',
    BINDINGS_DATABASE_USER: 'shared',
    LOOKUP_DATABASE_USER: 'shared',
    MEMBERS_DATABASE_PASSWORD: PASSWORD,
  };
  const read = () => rolesOf(['auth', 'bindings', 'lookup', 'members'], environment, 'postgres://the%20owner@a/guild');
  expect(read).toThrow(
    [
      'The configuration has 3 error(s):',
      '  AUTH_DATABASE_USER must differ from the user of DATABASE_URL, which owns the schemas',
      '  LOOKUP_DATABASE_USER and BINDINGS_DATABASE_USER must differ: each service has its own role',
      '  MEMBERS_DATABASE_PASSWORD is set without MEMBERS_DATABASE_USER',
    ].join('\n'),
  );
});

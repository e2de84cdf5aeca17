import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/database.ts';
import { prepareRoles, rolesOf } from './database-roles.ts';
import { allMigrations } from './migrate.ts';

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

test('every service may write each of its tables', async () => {
  const roles = allMigrations().map(({ service }) => ({ service, user: lookup.user, password: undefined }));
  await prepareRoles(database.url, roles);
  const missing = await databaseRows(
    database.url,
    `SELECT schemaname || '.' || tablename AS name FROM pg_tables
     WHERE schemaname = ANY ($2) AND tablename <> 'schema_migrations'
       AND NOT has_table_privilege($1, schemaname || '.' || tablename, 'SELECT, INSERT, UPDATE, DELETE')`,
    [lookup.user, roles.map(({ service }) => service)],
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

test('a role without a password is the operator’s: it is granted, not made', async () => {
  const theirs = { service: 'lookup', user: `theirs_${suffix}`, password: undefined };
  await expect(prepareRoles(database.url, [theirs])).rejects.toThrow(/does not exist/);
});

test('roles are read from the environment, and a service without one has none', () => {
  const environment = { AUTH_DATABASE_USER: 'a', AUTH_DATABASE_PASSWORD: 'p', LOOKUP_DATABASE_USER: 'l' };
  expect(rolesOf(['auth', 'bindings', 'lookup'], environment)).toEqual([
    { service: 'auth', user: 'a', password: 'p' },
    { service: 'lookup', user: 'l', password: undefined },
  ]);
});

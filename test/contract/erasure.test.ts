import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ErasureRule } from '#kit/personal-data/erasure-rules.ts';
import { UserExport } from '#kit/personal-data/user-export.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { RETAINED_KINDS } from '#proto/rest/retained-kinds.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '../postgres/database.ts';
import { SERVICES as ALL_SERVICES, filesBelow } from './sources.ts';

/** The services with tables; the console has none. */
const SERVICES = ALL_SERVICES.filter((name) => filesBelow(`services/${name}/migrations`, /\.sql$/).length > 0);
/** The table that records migrations. */
const OURS = 'schema_migrations';
/** Names of columns that identify a user. */
const NAMES_A_USER = /(?:^|_)(?:chat|game|user|member|player)_id$/;
/** Columns with names and free text about a user, which are deleted with their row. */
const DESCRIBES_A_USER = /username|nickname|^(?:reason|text|note|message)$/;
/** The services that record events. */
const RECORDERS = ['activity', 'auth', 'bindings', 'lookup', 'members', 'moderation'];
/** Columns of arbitrary content, each with a note whether it may name users. */
const ARBITRARY: Record<string, string> = {
  ...Object.fromEntries(
    RECORDERS.flatMap((service) => [
      [`${service}.events.data`, 'emptied by the persons of the event'],
      [`${service}.events.before`, 'emptied with the data'],
      [`${service}.events.source`, 'a rule'],
    ]),
  ),
  'bindings.bindings.conditions': 'types, groups and items of the guild',
  'events.log.data': 'emptied by the persons of the event',
  'events.log.source': 'a rule',
  'events.audit_entries.source': 'emptied by the persons of the entry',
  'events.audit_entries.before': 'emptied by the persons of the entry',
  'events.audit_entries.after': 'emptied by the persons of the entry',
  'activity.servers.players': 'a rule',
  'activity.commands.payload': 'of the user: deleted; by the user as moderator: cleared with issued_by',
  'activity.commands.result': 'the response of a game server to a command; deleted with it',
  'activity.deliveries.result': 'like that of commands',
  'activity.actions.details': 'cleared with the target',
  'auth.audit.details': 'a rule, by the persons of the entry',
  'auth.interactions.options': 'emptied when the command ends, within 15 minutes; may name others until then',
  'auth.sessions.guilds': 'the roles of the person of the session; deleted with it',
  'members.known_ranks.ranks': 'ranks of the user by group; deleted with the row',
  'members.intents.claim': 'the name of a stored response',
  'members.intents.source': 'a rule',
  'members.nickname_changes.source': 'like that of recorded events; deleted within a day',
  'members.role_changes.source': 'like that of recorded events; deleted within a day',
  'members.role_tasks.source': 'like that of recorded events; deleted with the task',
  'members.sync_jobs.source': 'a rule',
  'members.sync_jobs.cause': 'a rule',
  'members.sync_jobs.errors': 'a rule',
  'members.mirror_guilds.roles': 'names and rights of roles, without persons',
  'members.binding_previews.named': 'a rule',
  'members.binding_previews.binding': 'the rule that is planned, without persons',
  'members.binding_previews.cause': 'an error without persons',
};
/** Tables whose rows are found through the index of another table: see their rules. */
const FOUND_ELSEWHERE = ['moderation.punishments', 'events.deliveries'];
/** Tables with a GIN index of persons, which are few in any guild. */
const WITH_PERSONS = ['events.log', 'events.audit_entries', 'auth.audit'];
/**
 * Tables with few rows per guild, which are read whole: those of a day, the jobs of a month, one row per server, or events
 * that are not yet relayed.
 */
const SMALL = [
  ...RECORDERS.map((service) => `${service}.events`),
  'members.verification_tokens',
  'members.intents',
  'members.sync_jobs',
  'members.binding_previews',
  // One row for each guild.
  'members.mirror_guilds',
  'activity.servers',
];

let testDatabase: TestDatabase;
let database: Database;
const rules = new Map<string, ErasureRule>();

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  for (const service of SERVICES) {
    const module = (await import(`../../services/${service}/erasure.ts`)) as { erasureRules: ErasureRule[] };
    for (const rule of module.erasureRules) {
      if (rules.has(rule.table)) throw new Error(`${rule.table} has two rules`);
      rules.set(rule.table, rule);
    }
  }
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

interface Column {
  table: string;
  column: string;
  type: string;
}

async function columns(): Promise<Column[]> {
  const found = await database.query<Column>(
    `SELECT table_schema || '.' || table_name AS table, column_name AS column, data_type AS type
     FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
     WHERE table_schema = ANY($1) AND table_type = 'BASE TABLE' AND table_name <> $2`,
    [SERVICES, OURS],
  );
  expect(found.length).toBeGreaterThan(100);
  return found;
}

test('every table has an erasure rule in services/<service>/erasure.ts, and every rule belongs to a table', async () => {
  const tables = new Set((await columns()).map(({ table }) => table));
  expect([...tables].filter((table) => !rules.has(table))).toEqual([]);
  expect([...rules.keys()].filter((table) => !tables.has(table))).toEqual([]);
  const guilds = new Set((await columns()).filter(({ column }) => column === 'guild_id').map(({ table }) => table));
  const without = [...tables].filter((table) => !guilds.has(table));
  const shared = [...rules.values()].filter((rule) => rule.belongsToInstallation).map(({ table }) => table);
  expect(without.toSorted()).toEqual(shared.toSorted());
});

test('the rows of every table count towards the usage of their guild, unless they are kept when it is erased', () => {
  const uncounted = [...rules.values()].filter(
    ({ holds, keptRows, belongsToInstallation }) => !holds && keptRows !== 'TRUE' && !belongsToInstallation,
  );
  expect(uncounted.map(({ table }) => table)).toEqual([]);
  const kinds = new Set([...rules.values()].flatMap(({ holds }) => holds ?? []));
  expect([...kinds].toSorted()).toEqual(Object.keys(RETAINED_KINDS).toSorted());
});

const NO_RULE = { users: [] } as unknown as ErasureRule;

/** The columns that a rule reads or clears. */
function covered({ users = [] }: ErasureRule): string[] {
  return users.flatMap(({ column, empty = {} }) => [column, ...Object.keys(empty)]);
}

test('every column that identifies a user is in the rule of its table', async () => {
  const naming = (await columns()).filter(({ column }) => NAMES_A_USER.test(column));
  expect(naming.length).toBeGreaterThan(20);
  const missing = naming.filter(({ table, column }) => !covered(rules.get(table) ?? NO_RULE).includes(column));
  expect(missing).toEqual([]);
});

test('a column that an erasure sets to NULL allows NULL', async () => {
  const required = await database.query<{ name: string }>(
    `SELECT table_schema || '.' || table_name || '.' || column_name AS name FROM information_schema.columns
     WHERE table_schema = ANY($1) AND is_nullable = 'NO'`,
    [SERVICES],
  );
  const cleared = [...rules.values()].flatMap(({ table, users = [] }) =>
    users.flatMap(({ empty = {} }) =>
      Object.entries(empty)
        .filter(([, value]) => value === 'NULL')
        .map(([column]) => `${table}.${column}`),
    ),
  );
  expect(cleared.length).toBeGreaterThan(5);
  expect(cleared.filter((column) => required.some(({ name }) => name === column))).toEqual([]);
});

test('rows of which an erasure clears columns have no user in their primary key, which an export shows', async () => {
  const keys = await database.query<{ table: string; column: string }>(
    `SELECT indrelid::regclass::text AS table, attname AS column
     FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey) WHERE indisprimary`,
    [],
  );
  const cleared = [...rules.values()].filter(({ users = [] }) => users.some(({ empty }) => empty));
  expect(cleared.length).toBeGreaterThan(3);
  const naming = keys.filter(
    ({ table, column }) => cleared.some((rule) => rule.table === table) && NAMES_A_USER.test(column),
  );
  expect(naming).toEqual([]);
});

test('the exported part of a row about several users contains only the requested one', () => {
  const shared = [...rules.values()].flatMap(({ table, users = [] }) =>
    users
      .filter(({ empty, shows }) => empty && !shows && Object.keys(empty).some((column) => isOpen(table, column)))
      .map(({ column }) => `${table}.${column}`),
  );
  // `details` are a staff member's text about the target.
  expect(shared).toEqual(['activity.actions.target_game_id', 'members.sync_jobs.cause']);
});

const isOpen = (table: string, column: string) => Object.hasOwn(ARBITRARY, `${table}.${column}`);

test.each(SERVICES)('%s exports and erases the same rows of a user', async (service) => {
  const own = [...rules.values()].filter(({ table }) => table.startsWith(`${service}.`));
  const exported = new UserExport({ database, rules: own });
  for (const accounts of [{ game: '7' }, { chat: '920000000000000001' }, { game: '7', chat: '920000000000000001' }]) {
    expect(await exported.guildsOf(accounts, undefined)).toEqual({ guildIds: [], searchedTo: undefined });
    expect(await exported.page('900000000000000001', accounts, '')).toEqual({ rows: [], nextCursor: '' });
  }
});

test('in every table with names of users or texts about them, rows can be found by user', async () => {
  const describing = (await columns()).filter(({ column }) => DESCRIBES_A_USER.test(column));
  expect(describing.length).toBeGreaterThan(5);
  expect(describing.filter(({ table }) => !rules.get(table)?.users?.some(({ empty }) => empty === undefined))).toEqual(
    [],
  );
});

test('every column of arbitrary content is listed', async () => {
  const open = (await columns()).filter(({ type }) => type === 'json' || type === 'jsonb');
  expect(open.map(({ table, column }) => `${table}.${column}`).toSorted()).toEqual(Object.keys(ARBITRARY).toSorted());
});

test('every table that is not in SMALL has an index (guild_id, column, …) for each column of its erasure rule', async () => {
  const indexes = await database.query<{ table: string; definition: string }>(
    `SELECT schemaname || '.' || tablename AS table, indexdef AS definition FROM pg_indexes WHERE schemaname = ANY($1)`,
    [SERVICES],
  );
  const finds = (definition: string, column: string) =>
    new RegExp(`\\(guild_id, ${column}\\b[^)]*\\)(?: WHERE \\(${column} IS NOT NULL\\))?$`).test(definition);
  const searched = [...rules.values()].flatMap(({ table, users = [] }) =>
    users.map(({ column }) => ({ table, column })),
  );
  const slow = searched.filter(
    ({ table, column }) =>
      ![...SMALL, ...FOUND_ELSEWHERE, ...WITH_PERSONS].includes(table) &&
      !indexes.some((index) => index.table === table && finds(index.definition, column)),
  );
  expect(slow).toEqual([]);
});

import { expect, test } from 'vitest';
import { describeStatement, isRead, longRunning, prepared } from './statements.ts';

test.each([
  'SELECT 1',
  "\n  select updated_at, deleted_at, 'x' FROM lookup.links",
  'WITH newest AS (SELECT max(id) AS id FROM auth.audit) SELECT id FROM newest',
  'SELECT count(*) FROM auth.key_changes WHERE changed_at > $1',
])('a read: %s', (text) => {
  expect(isRead(text)).toBe(true);
  expect(isRead(prepared(text))).toBe(true);
});

test.each([
  'INSERT INTO lookup.links SELECT * FROM other.links',
  'UPDATE auth.keys SET name = $1',
  'WITH gone AS (DELETE FROM auth.keys RETURNING 1) SELECT count(*) FROM gone',
  'WITH kept AS (INSERT INTO auth.audit VALUES ($1) RETURNING id) SELECT id FROM kept',
  'SELECT 1 FROM auth.guilds WHERE guild_id = $1 FOR UPDATE',
  'SELECT 1 FROM auth.guilds WHERE guild_id = $1 FOR NO KEY UPDATE',
  'SELECT 1 FROM auth.guilds WHERE guild_id = $1 FOR KEY SHARE SKIP LOCKED',
  'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))',
  'SELECT pg_try_advisory_xact_lock($1)',
  'SELECT pg_notify($1, $2)',
  "SELECT nextval('auth.numbers')",
  'TRUNCATE auth.keys',
  'BEGIN',
])('not a read: %s', (text) => {
  expect(isRead(text)).toBe(false);
  expect(isRead(prepared(text))).toBe(false);
});

test('a long-running read does not have the timeout of a read', () => {
  expect(isRead(longRunning('SELECT count(*) FROM lookup.links'))).toBe(false);
});

test.each([
  ['SELECT chat_id FROM lookup.links WHERE guild_id = $1', 'SELECT lookup.links'],
  ['  insert into auth.keys (id) VALUES ($1)', 'INSERT auth.keys'],
  ['WITH old AS (SELECT id FROM a.b FOR UPDATE) DELETE FROM a.c USING old', 'DELETE a.b'],
  ['WITH recent AS (SELECT id FROM a.b) SELECT * FROM recent', 'SELECT a.b'],
  ['SELECT 1 FROM a.b FOR UPDATE SKIP LOCKED', 'SELECT a.b'],
  ['UPDATE ONLY a.b SET x = $1', 'UPDATE a.b'],
  ['BEGIN', 'BEGIN'],
  ["SELECT pg_notify('x', $1)", 'SELECT'],
  [prepared('SELECT 1 FROM a.b'), 'SELECT a.b'],
  [longRunning('SELECT count(*) FROM a.b'), 'SELECT a.b'],
] as const)('in a trace the statement %j is %s', (statement, name) => {
  const { attributes, ...described } = describeStatement(statement);
  expect(described).toEqual({ name });
  expect(attributes).toEqual({
    'db.system.name': 'postgresql',
    'db.operation.name': name.split(' ')[0],
    'db.query.summary': name,
  });
});

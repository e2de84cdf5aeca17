import { expect, test } from 'vitest';
import { concurrentStatement, statementsOf } from './files.ts';

test('statements are split at semicolons, except in comments, texts and function bodies', () => {
  const text = `
    -- first; of two
    CREATE TABLE a.b (id int /* a; key */, note text DEFAULT 'x; y''s');
    CREATE FUNCTION a.f() RETURNS int LANGUAGE sql AS $body$ SELECT 1; SELECT 2; $body$;`;
  expect(statementsOf(text)).toEqual([
    "CREATE TABLE a.b (id int , note text DEFAULT '')",
    "CREATE FUNCTION a.f() RETURNS int LANGUAGE sql AS ''",
  ]);
});

test('a concurrent statement is recognised by the code, not by comments', () => {
  expect(concurrentStatement('-- not CONCURRENTLY\nCREATE INDEX x ON a.b (id);')).toBeUndefined();
  expect(
    concurrentStatement('-- why\nCREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS b_id\n  ON a.b (id) WHERE id > 0;'),
  ).toEqual({ creates: { schema: 'a', index: 'b_id' } });
  expect(concurrentStatement('DROP INDEX CONCURRENTLY IF EXISTS a.b_id;')).toEqual({ creates: undefined });
});

test.each([
  ['another statement beside it', 'CREATE INDEX CONCURRENTLY IF NOT EXISTS x ON a.b (id); SELECT 1;'],
  ['no IF NOT EXISTS', 'CREATE INDEX CONCURRENTLY x ON a.b (id);'],
  ['no schema', 'CREATE INDEX CONCURRENTLY IF NOT EXISTS x ON b (id);'],
  ['no IF EXISTS', 'DROP INDEX CONCURRENTLY a.x;'],
])('a file with CONCURRENTLY and %s is rejected, because it could not be repeated', (_, text) => {
  expect(() => concurrentStatement(text)).toThrow('CONCURRENTLY needs a file of its own');
});

import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { migrationFaults } from './migration-rules.ts';
import { filesBelow, readText, serviceOf } from './sources.ts';

/** The last migration of each service that was merged before these rules; merged migrations do not change. */
const BEFORE_THE_RULES: Readonly<Record<string, number>> = {
  activity: 12,
  auth: 9,
  bindings: 4,
  events: 5,
  lookup: 8,
  members: 13,
  moderation: 8,
};

const numberOf = (path: string) => Number(basename(path).slice(0, 4));

test('new migrations block no request while they run on a large table', () => {
  const files = filesBelow('services', /\/migrations\/[^/]+\.sql$/);
  expect(files.length).toBeGreaterThan(50);
  const isNew = (path: string) => numberOf(path) > (BEFORE_THE_RULES[serviceOf(path) ?? ''] ?? 0);
  const faults = files
    .filter(isNew)
    .flatMap((path) => migrationFaults(readText(path)).map((fault) => `${path}: ${fault}`));
  expect(faults).toEqual([]);
});

test.each([
  ['an index of an existing table', 'CREATE INDEX x ON a.b (id);', 'in a file of its own'],
  ['the same, if it is missing', 'CREATE UNIQUE INDEX IF NOT EXISTS x\n  ON a.b (id);', 'in a file of its own'],
  [
    'an index beside the table of another',
    'CREATE TABLE a.c (id int); CREATE INDEX x ON a.b (id);',
    'in a file of its own',
  ],
  [
    'a concurrent index beside others',
    'SELECT 1; CREATE INDEX CONCURRENTLY x ON a.b (id)',
    'CONCURRENTLY needs a file',
  ],
  ['a unique constraint', 'ALTER TABLE a.b ADD CONSTRAINT x UNIQUE (id);', 'USING INDEX'],
  ['a primary key', 'ALTER TABLE ONLY a.b ADD PRIMARY KEY (id);', 'USING INDEX'],
  ['a foreign key', 'ALTER TABLE a.b ADD CONSTRAINT x FOREIGN KEY (id) REFERENCES a.c (id);', 'NOT VALID'],
  ['a table with a foreign key to an older one', 'CREATE TABLE a.b (id int REFERENCES a.c);', 'Citus'],
  ['a check', 'ALTER TABLE a.b ADD CHECK (id > 0);', 'NOT VALID'],
  ['a type', 'ALTER TABLE a.b ALTER COLUMN id TYPE bigint;', 'rewrite'],
  ['another name', 'ALTER TABLE a.b RENAME COLUMN id TO number;', 'previous release'],
  ['a rebuilt index', 'REINDEX TABLE a.b;', 'rewritten'],
])('a migration with %s is rejected', (_, text, fault) => {
  expect(migrationFaults(text)).toEqual([expect.stringContaining(fault)]);
});

test.each([
  ['an index of a new table', 'CREATE TABLE a.b (id int CHECK (id > 0)); CREATE INDEX x ON a.b (id);'],
  ['a foreign key between new tables', 'CREATE TABLE a.b (id int); CREATE TABLE a.c (id int REFERENCES a.b);'],
  ['a constraint of a new table', 'CREATE TABLE a.b (id int); ALTER TABLE a.b ADD CONSTRAINT x UNIQUE (id);'],
  ['a concurrent index alone', '-- for lists\nCREATE INDEX CONCURRENTLY IF NOT EXISTS x ON a.b (id);'],
  ['an index of a partitioned table without its partitions', 'CREATE INDEX x ON ONLY a.b (id);'],
  ['a constraint from an index', 'ALTER TABLE a.b ADD CONSTRAINT x UNIQUE USING INDEX b_id;'],
  ['a check that is not validated', 'ALTER TABLE a.b ADD CONSTRAINT x CHECK (id > 0) NOT VALID;'],
  ['a column', 'ALTER TABLE a.b ADD COLUMN note text, ADD COLUMN kind text NOT NULL DEFAULT 0;'],
  ['a comment about an index', "-- CREATE INDEX x ON a.b (id);\nSELECT 'CREATE INDEX x ON a.b (id);';"],
])('a migration with %s is accepted', (_, text) => {
  expect(migrationFaults(text)).toEqual([]);
});

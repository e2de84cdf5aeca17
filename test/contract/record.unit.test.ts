import { expect, test } from 'vitest';
import { filesBelow, readText } from './sources.ts';

test('deploy/decisions/data-retention.md lists every retention variable', () => {
  const record = readText('deploy/decisions/data-retention.md');
  const variables = filesBelow('services', /^[^/]+\/config\.ts$/).flatMap((path) =>
    [...readText(path).matchAll(/\bRETENTION_\w+/g)].map(([name]) => name),
  );
  expect(variables.length).toBeGreaterThan(5);
  expect([...new Set(variables)].filter((name) => !record.includes(name))).toEqual([]);
});

test('deploy/decisions/data-retention.md lists every table with what reads it, and no other', () => {
  const migrations = filesBelow('services', /\/migrations\/[^/]+\.sql$/)
    .map(readText)
    .join('\n');
  const names = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name);
  const dropped = names(migrations, /DROP TABLE (?:IF EXISTS )?(\w+\.\w+)/g);
  const tables = names(migrations, /CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+\.\w+)/g);
  expect(tables.length).toBeGreaterThan(50);
  const [, section = ''] = readText('deploy/decisions/data-retention.md').split('## Tables and what reads them');
  const rows = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| `'));
  for (const row of rows) expect(row.split('|')[2]?.trim()).toBeTruthy();
  const listed = rows.flatMap((row) => names(row.split('|')[1] ?? '', /`(\w+\.\w+)`/g));
  const existing = tables.filter((name) => !dropped.includes(name));
  const byName = (a: string, b: string) => (a < b ? -1 : 1);
  expect(listed.toSorted(byName)).toEqual(existing.toSorted(byName));
});

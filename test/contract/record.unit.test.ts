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

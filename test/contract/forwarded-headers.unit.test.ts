import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FORWARDED_HEADERS } from '#kit/downstream/headers.ts';

/** Matches code that reads a request header by name. */
const READ = /\b(?:oneHeader\(request, |request\.headers\[|\bheaders\[)'([\w-]+)'/g;

test('the gateway forwards every request header that a service reads', () => {
  // The console reads the headers of browsers itself, not behind the gateway.
  const files = globSync('services/{kit/{http,body}.ts,*/http.ts,*/http/*.ts}').filter(
    (file) => !file.includes('.test.') && !file.startsWith('services/console/'),
  );
  const read = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(READ)].map(([, name]) => name as string),
  );
  expect(read).toContain('idempotency-key');
  expect(read.filter((name) => !FORWARDED_HEADERS.has(name))).toEqual([]);
});

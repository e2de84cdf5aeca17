import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { pathOf } from '#kit/files.ts';
import { EXCLUDED } from '../citus/excluded.ts';

describe.each(Object.entries(EXCLUDED))('the exclusion of %s from the tests on a cluster', (file, { tests }) => {
  test('names a file that exists', () => {
    expect(existsSync(pathOf(file))).toBe(true);
  });

  test.runIf(tests)('names tests that the file has', () => {
    const source = readFileSync(pathOf(file), 'utf8');
    // The beginning of each alternative, up to what a name fills in or a regular expression describes.
    const words = (tests?.source.split('|') ?? []).map((part) => part.replace(/^\^/, '').split(/[(?)$\\]/)[0] ?? '');
    for (const word of words) expect(source).toContain(word);
  });
});

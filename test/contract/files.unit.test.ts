import { expect, test } from 'vitest';
import { isGenerated, SOURCES } from './sources.ts';

test('no file except generated ones is longer than 300 lines', () => {
  const lengths = SOURCES.filter((source) => !isGenerated(source)).map(({ path, text }) => ({
    path,
    lines: text.trimEnd().split('\n').length,
  }));
  expect(lengths.filter(({ lines }) => lines > 300)).toEqual([]);
});

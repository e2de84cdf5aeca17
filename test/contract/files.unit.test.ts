import { expect, test } from 'vitest';
import { isGenerated, SOURCES } from './sources.ts';

test('no file is longer than 300 lines, but for generated ones', () => {
  const lengths = SOURCES.filter((source) => !isGenerated(source)).map(({ path, text }) => ({
    path,
    lines: text.trimEnd().split('\n').length,
  }));
  expect(lengths.filter(({ lines }) => lines > 300)).toEqual([]);
});

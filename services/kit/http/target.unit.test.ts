import { expect, test } from 'vitest';
import { splitTarget } from './target.ts';

test.each([
  ['/a/b', '/a/b', ''],
  ['/a?', '/a', ''],
  ['/a?b=c', '/a', 'b=c'],
  ['/a?b=c?d=e', '/a', 'b=c?d=e'],
  ['?b', '', 'b'],
  ['', '', ''],
])('%s has the path "%s" and the query "%s"', (target, path, query) => {
  expect(splitTarget(target)).toEqual({ path, query });
});

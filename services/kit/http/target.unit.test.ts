import { expect, test } from 'vitest';
import { splitTarget } from './target.ts';

test.each([
  ['/a/b', '/a/b', ''],
  ['/a?', '/a', ''],
  ['/a?b=c', '/a', 'b=c'],
  ['/a?b=c?d=e', '/a', 'b=c?d=e'],
  ['?b', '', 'b'],
  ['', '', ''],
])('%s is the path "%s" with the query "%s"', (target, path, query) => {
  expect(splitTarget(target)).toEqual({ path, query });
});

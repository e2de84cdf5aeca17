import { expect, test } from 'vitest';
import { safeReturnTo } from './return-to.ts';

test.each([
  '/',
  '/account',
  '/guilds/900000000000000001/keys?page=2&sort=name#new',
  '/guilds/1/people?query=%E2%9A%93%2F%2F',
  '/sign-in?next=//evil.example',
  `/${'a'.repeat(499)}`,
])('%s is a path of the app and is kept', (path) => {
  expect(safeReturnTo(path)).toBe(path);
});

test.each([
  ['nothing', ''],
  ['another site', 'https://evil.example/'],
  ['another site without a scheme', '//evil.example'],
  ['three slashes', '///evil.example'],
  ['a backslash after the slash', '/\\evil.example'],
  ['backslashes', '\\\\evil.example'],
  ['a backslash further on', '/guilds\\..\\..\\evil.example'],
  ['a tab, which browsers remove', '/\t/evil.example'],
  ['a line feed, which browsers remove', '/\n/evil.example'],
  ['a carriage return and a header', '/\r\nSet-Cookie: a=b'],
  ['white space at the start', ' //evil.example'],
  ['a space', '/guilds /1'],
  ['dots that resolve to two slashes', '/.//evil.example'],
  ['dots that go up to two slashes', '/a/..//evil.example'],
  ['encoded dots that resolve to two slashes', '/%2e//evil.example'],
  ['a scheme', 'javascript:alert(1)'],
  ['a scheme in upper case with a tab', 'java\tscript:alert(1)'],
  ['data', 'data:text/html,<script>alert(1)</script>'],
  ['credentials of a URL', '@evil.example'],
  ['a relative path', 'guilds/1'],
  ['a null character', '/\0'],
  ['a character outside of ASCII', '/\u{ff0f}evil.example'],
  ['a right-to-left override', '/\u{202e}guilds'],
  ['a path that starts a sign-in', '/console/sign-in/chat'],
  ['a path of the API', '/api/v1/whoami'],
  ['dots that lead to a path of the API', '/guilds/../api/v1/whoami'],
  ['501 characters', `/${'a'.repeat(500)}`],
])('%s leads to the first page instead', (_what, path) => {
  expect(safeReturnTo(path)).toBe('/');
});

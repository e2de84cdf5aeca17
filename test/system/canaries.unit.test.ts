import { expect, test } from 'vitest';
import { Canaries } from './canaries.ts';

const SECRET = 'pass/word+with"signs_x';

test.each([
  ['as it is', SECRET],
  ['in JSON', JSON.stringify({ password: SECRET })],
  ['in a URL', `redis://:${encodeURIComponent(SECRET)}@host`],
  ['as hexadecimal digits', `\\x00${Buffer.from(SECRET).toString('hex')}ff`],
  ['as a list of bytes', JSON.stringify(Buffer.from(SECRET))],
  ['as base64 of a whole header', Buffer.from(`user:${SECRET}`).toString('base64')],
  ['as base64 with text around it', Buffer.from(`u:${SECRET} and more`).toString('base64')],
  ['as base64url', Buffer.from(`a${SECRET}b`).toString('base64url')],
])('a secret is found %s', (_way, text) => {
  const canaries = new Canaries();
  canaries.add('password', SECRET);
  canaries.place('log', `before ${text} after`);
  const [found = 'nothing'] = canaries.findings();
  expect(found).toMatch(/^password \(.*\) in log$/);
});

test('where no secret stands nothing is found, and all that was searched is counted', () => {
  const canaries = new Canaries();
  canaries.add('password', SECRET);
  canaries.addKey('key', 'service_900000000000000001_shownSsecretpartofthekey');
  canaries.place('log', 'service_900000000000000001_shownS***');
  canaries.place('log', SECRET.slice(1));
  expect(canaries.findings()).toEqual([]);
  expect(canaries.bytes).toEqual({ log: 36 + 21 });
  expect(() => canaries.add('code', 'abc')).toThrow('code is too short');
});

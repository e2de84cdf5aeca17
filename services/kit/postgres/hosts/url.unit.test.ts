import { expect, test } from 'vitest';
import { databaseUrlFault, HOST_NAME, hostOf, hostUrls } from './url.ts';

test('a URL with a single host is used as it is', () => {
  const url = 'postgres://u:p%40@db.example:6432/guild?sslmode=verify-full&target_session_attrs=read-write';
  expect(hostUrls(url)).toEqual([url]);
  expect(databaseUrlFault(url)).toBeUndefined();
});

test('a URL with several hosts is split into one URL for each, which keep credentials, database and parameters', () => {
  const rest = '/guild?sslmode=require';
  expect(hostUrls(`postgres://u:a%2Cb@h1:5433,h2,[::1]:5434${rest}&target_session_attrs=read-write`)).toEqual([
    `postgres://u:a%2Cb@h1:5433${rest}`,
    `postgres://u:a%2Cb@h2:5432${rest}`,
    `postgres://u:a%2Cb@[::1]:5434${rest}`,
  ]);
  expect(hostUrls('postgresql://h1,h2/guild').map(hostOf)).toEqual(['h1:5432', 'h2:5432']);
});

test.each(['db', 'db.example', '10.0.0.1', '[fd00::1]'])('%s is a host to which a port can be added', (host) => {
  expect(host).toMatch(HOST_NAME);
  expect(databaseUrlFault(`postgres://u@${host}:5432/guild`)).toBeUndefined();
});

test.each(['db:6432', 'fd00::1', '[fd00::1]:5432', 'a b', 'db/guild', 'u@db', ''])(
  '%j is no host without a port',
  (host) => {
    expect(host).not.toMatch(HOST_NAME);
  },
);

test.each([
  ['a missing host', 'postgres://u:secret@h1,/guild', 'must name its hosts as host:port,host:port'],
  ['a port that is none', 'postgres://u:secret@h1:a,h2/guild', 'must name its hosts as host:port,host:port'],
  ['a port out of range', 'postgres://u:secret@h1:70000,h2/guild', 'must name its hosts as host:port,host:port'],
  ['the same host twice', 'postgres://u:secret@h1,h1:5432/guild', 'must not name a host twice'],
  ['the same host in capitals', 'postgres://u:secret@h1,H1/guild', 'must not name a host twice'],
  ['nine hosts', 'postgres://u:secret@1,2,3,4,5,6,7,8,9/guild', 'must name at most 8 hosts'],
  [
    'any server',
    'postgres://u:secret@h1,h2/guild?target_session_attrs=any',
    'must have target_session_attrs=read-write, because services write',
  ],
  [
    'a host in a parameter',
    'postgres://u:secret@h1,h2/guild?host=h3',
    'must not have the parameters host and port beside several hosts',
  ],
  ['another protocol', 'mysql://h1,h2/guild', 'must be a URL that begins with postgres:// or postgresql://'],
  ['no URL', 'postgres://u:secret@h1:a/guild', 'must be a URL that begins with postgres:// or postgresql://'],
])('%s is reported without any part of the URL', (_what, url, fault) => {
  expect(databaseUrlFault(url)).toBe(fault);
});

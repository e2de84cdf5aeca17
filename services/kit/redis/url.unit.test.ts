import { expect, test } from 'vitest';
import { ConfigError, readConfig, redisConfig } from '../service/config.ts';
import { parseRedisUrl } from './url.ts';

test('a URL of one server, with defaults for missing parts', () => {
  expect(parseRedisUrl('redis://localhost')).toMatchObject({
    kind: 'standalone',
    tls: false,
    hosts: [{ host: 'localhost', port: 6379 }],
    username: undefined,
    password: undefined,
    database: 0,
  });
  expect(parseRedisUrl('rediss://guild:p%40ss%2Fword@[::1]:7000/3')).toMatchObject({
    kind: 'standalone',
    tls: true,
    hosts: [{ host: '::1', port: 7000 }],
    username: 'guild',
    password: 'p@ss/word',
    database: 3,
  });
  expect(parseRedisUrl('redis://:secret@localhost/')).toMatchObject({ username: undefined, password: 'secret' });
});

test('a URL of sentinels and the primary that they monitor', () => {
  expect(
    parseRedisUrl('rediss+sentinel://u:p@one,two:26380/mymaster?db=2&sentinel_username=s&sentinel_password=q'),
  ).toEqual({
    kind: 'sentinel',
    tls: true,
    hosts: [
      { host: 'one', port: 26379 },
      { host: 'two', port: 26380 },
    ],
    username: 'u',
    password: 'p',
    database: 2,
    master: 'mymaster',
    sentinelUsername: 's',
    sentinelPassword: 'q',
  });
});

test('a URL of cluster nodes', () => {
  expect(parseRedisUrl('redis+cluster://:p@one:7001,two:7002')).toMatchObject({
    kind: 'cluster',
    hosts: [
      { host: 'one', port: 7001 },
      { host: 'two', port: 7002 },
    ],
    password: 'p',
  });
});

test.each([
  ['http://localhost', 'must be redis://'],
  ['redis://', 'must be redis://'],
  ['redis://one,two', 'must name one host'],
  ['redis://one:0', 'host:port'],
  ['redis://one:70000', 'host:port'],
  ['redis://user:100%@one', 'percent-encoded'],
  ['redis://one/first', 'database as a number'],
  ['redis://one?family=6', 'must not have options other than db'],
  ['redis+cluster://one/1', 'database 0'],
  ['redis+sentinel://one:26379', 'must name the primary'],
])('%s is rejected', (url, reason) => {
  expect(() => readConfig(redisConfig, { REDIS_URL: url })).toThrow(ConfigError);
  expect(() => readConfig(redisConfig, { REDIS_URL: url })).toThrow(reason);
});

test('the error does not contain the password, and a missing URL is valid', () => {
  expect(() => readConfig(redisConfig, { REDIS_URL: 'redis://:hunter2@one:0' })).toThrow(/^(?!.*hunter2)/s);
  expect(readConfig(redisConfig, {})).toEqual({ REDIS_URL: undefined });
});

import { expect, test } from 'vitest';
import { readSettings } from './settings.ts';

const read = (environment: Record<string, string>) => readSettings(environment, '/checkout');

test('the defaults are a folder in the checkout, port 8080, and our own PostgreSQL and Redis', () => {
  expect(read({ DATABASE_URL: '', REDIS_URL: '' })).toEqual({
    dataFolder: '/checkout/.data',
    gatewayPort: 8080,
    consolePort: 8090,
    consoleUrl: undefined,
    databaseUrl: undefined,
    databaseDirectUrl: undefined,
    redisUrl: undefined,
  });
});

test("the console's port is 10 above the gateway's unless it is set, and free if the gateway's is", () => {
  const port = (environment: Record<string, string>) => read(environment).consolePort;
  expect([port({ GATEWAY_PORT: '9000' }), port({ GATEWAY_PORT: '0' })]).toEqual([9010, 0]);
  expect([port({ GATEWAY_PORT: '65535' }), port({ CONSOLE_PORT: '7000' })]).toEqual([65_535, 7000]);
});

test.each(['redis://host:6379/1', 'rediss://host', 'redis+sentinel://host:26379/mymaster', 'redis+cluster://a:1,b:2'])(
  'REDIS_URL may be any URL that the services accept: %s',
  (url) => {
    expect(read({ REDIS_URL: url }).redisUrl).toBe(url);
  },
);

test('one error lists all faults, without any value', () => {
  const faulty = { GATEWAY_PORT: '70000', DATABASE_URL: 'mysql://u:secret@h/d', REDIS_URL: 'http://secret' };
  expect(() => read(faulty)).toThrow(/3 error[^]*GATEWAY_PORT[^]*DATABASE_URL[^]*REDIS_URL/);
  expect(() => read(faulty)).not.toThrow('secret');
});

test('DATABASE_DIRECT_URL is refused without DATABASE_URL', () => {
  expect(() => read({ DATABASE_DIRECT_URL: 'postgres://h/d' })).toThrow('needs DATABASE_URL');
});

import { inspect } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTcpProxy, type TcpProxy } from '#test/network/tcp-proxy.ts';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { NoPrimaryError, PrimaryFinder } from './primary-finder.ts';

const PASSWORD = 'a-password-of-nobody';

let testDatabase: TestDatabase;
/** Two ways to the same server, so that each host can fail on its own. */
let hosts: TcpProxy[];

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  const target = Number(new URL(testDatabase.url).port);
  hosts = await Promise.all([startTcpProxy(target), startTcpProxy(target)]);
});
afterEach(async () => {
  await Promise.all(hosts.map((host) => host.close()));
  await testDatabase.drop();
});

function urlOf(ports: readonly number[], password = new URL(testDatabase.url).password): string {
  const { username, pathname } = new URL(testDatabase.url);
  return `postgres://${username}:${password}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}${pathname}`;
}

const portsOf = () => hosts.map(({ port }) => port);

test('several ways to the same primary: the one that was found first stays in use', async () => {
  const finder = new PrimaryFinder(urlOf(portsOf()), 'test');
  await hosts[0]?.refuse();
  const found = await finder.find();
  expect(found).toBe(finder.urls[1]);
  await hosts[0]?.accept();
  expect(await finder.find()).toBe(found);
});

test('the error without a primary names hosts and reasons, and contains no password in any form', async () => {
  const finder = new PrimaryFinder(urlOf([1, ...portsOf()], PASSWORD), 'test');
  const error = await finder.find().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(NoPrimaryError);
  expect((error as Error).message).toContain('127.0.0.1:1: connect ECONNREFUSED');
  expect(inspect(error, { depth: null, showHidden: true })).not.toContain(PASSWORD);
  expect((error as NoPrimaryError).rejected).toEqual(new Set(['127.0.0.1:1']));
});

test('no search keeps a connection, also where a host does not respond', async () => {
  const finder = new PrimaryFinder(urlOf(portsOf()), 'test');
  hosts[1]?.freezeAll();
  for (let search = 0; search < 3; search++) expect(await finder.find()).toBe(finder.urls[0]);
  const [row] = await databaseRows<{ name: string }>(testDatabase.url, 'SELECT current_database() AS name');
  const open = () =>
    databaseRows(testDatabase.url, 'SELECT FROM pg_stat_activity WHERE datname = $1 AND application_name LIKE $2', [
      row?.name,
      'test host check',
    ]);
  await expect.poll(open, { timeout: 10_000 }).toEqual([]);
});

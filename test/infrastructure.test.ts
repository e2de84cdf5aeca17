import { Redis } from 'ioredis';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { createTestDatabase } from './postgres/database.ts';
import { testRedisUrl } from './redis/database.ts';

test('each test database is separate and migrated, and a drop deletes them despite open connections', async () => {
  const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  expect(one.url).not.toBe(other.url);
  const client = new Client({ connectionString: one.url });
  client.on('error', () => {});
  await client.connect();
  await client.query('CREATE TABLE mine (id int)');
  await other.drop();
  await one.drop();
  await expect(client.query('SELECT 1')).rejects.toThrow(/terminat|not queryable/);
  await expect(new Client({ connectionString: one.url }).connect()).rejects.toThrow('does not exist');
});

test('each Redis database of a test is empty and separate', async () => {
  const [one, other] = await Promise.all([testRedisUrl(), testRedisUrl()]);
  const clients = [new Redis(one), new Redis(other)] as const;
  await clients[0].set('key', 'value');
  expect(await clients[1].dbsize()).toBe(0);
  expect(await clients[0].dbsize()).toBe(1);
  for (const client of clients) client.disconnect();
});

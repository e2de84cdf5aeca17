import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { Metrics } from '../telemetry/metrics.ts';
import type { Database } from './pool.ts';
import { DatabaseServerStatus } from './server-status.ts';

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

async function valueOf(metrics: Metrics, name: string): Promise<number | undefined> {
  const { values } = (await metrics.registry.getSingleMetric(name)?.get()) ?? { values: [] };
  return values[0]?.value;
}

test('the connections of all clients are compared with those that ordinary roles may open', async () => {
  const metrics = new Metrics();
  const status = new DatabaseServerStatus({ database, metrics });
  const [row] = await databaseRows<{ max: string; reserved: string }>(
    testDatabase.url,
    "SELECT current_setting('max_connections') AS max, current_setting('superuser_reserved_connections') AS reserved",
  );
  const clients = Array.from({ length: 5 }, () => new Client({ connectionString: testDatabase.url }));
  try {
    for (const client of clients) await client.connect();
    await status.update();
    expect(await valueOf(metrics, 'postgres_server_connections')).toBeGreaterThanOrEqual(6);
    expect(await valueOf(metrics, 'postgres_server_connections_max')).toBe(Number(row?.max) - Number(row?.reserved));
    // Without a replica there is no lag, which is not the same as a lag of 0.
    expect(await valueOf(metrics, 'postgres_replication_lag_seconds')).toBeUndefined();
  } finally {
    for (const client of clients) await client.end();
  }
});

test('while PostgreSQL does not respond, the last values stay', async () => {
  const metrics = new Metrics();
  const own = await openTestPool(testDatabase.url);
  const status = new DatabaseServerStatus({ database: own, metrics });
  await status.update();
  const before = await valueOf(metrics, 'postgres_server_connections_max');
  await own.close();
  await status.update();
  expect(before).toBeGreaterThan(10);
  expect(await valueOf(metrics, 'postgres_server_connections_max')).toBe(before);
});

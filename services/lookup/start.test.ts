import { Client } from 'pg';
import { expect, test } from 'vitest';
import { startService } from '#kit/service/service.ts';
import { freePorts } from '#local/ports.ts';
import { createTestDatabase } from '#test/postgres/database.ts';
import { testEnvironment } from '#test/system/signed-calls.ts';
import { lookupService } from './service.ts';

test('a replica that waits for a migration serves metrics that show it', async () => {
  const database = await createTestDatabase();
  const [port = 0] = await freePorts(1);
  const client = new Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query('DELETE FROM lookup.schema_migrations RETURNING *');
  const isCurrent = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined);
    return /^schema_current (\d)$/m.exec((await response?.text()) ?? '')?.[1];
  };

  const starting = startService(lookupService, { ...testEnvironment(database.url), ADMIN_PORT: String(port) });
  await expect.poll(isCurrent).toBe('0');
  for (const { id, name, run_on: runOn } of rows) {
    await client.query('INSERT INTO lookup.schema_migrations VALUES ($1, $2, $3)', [id, name, runOn]);
  }
  const lookup = await starting;
  expect(await isCurrent()).toBe('1');

  await lookup.stop();
  await client.end();
  await database.drop();
});

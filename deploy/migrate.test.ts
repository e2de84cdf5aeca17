import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, inject, test } from 'vitest';
import { freePorts } from '#local/ports.ts';
import { createTestDatabase, databaseRows } from '#test/postgres/database.ts';
import packageJson from '../package.json' with { type: 'json' };
import { untilReachable } from './migrate.ts';

/** Runs a program of this folder to its end. */
async function runProgram(words: string[], environment: NodeJS.ProcessEnv) {
  const [file = '', ...rest] = words;
  const child = spawn(process.execPath, [join(import.meta.dirname, file), ...rest], { env: { ...environment } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()));
  const [status] = (await once(child, 'exit')) as [number | null];
  return { status, output };
}

test('wait-for-schema.ts exits with status 0 and prints nothing if the schema is complete', async () => {
  const database = await createTestDatabase();
  const done = await runProgram(['wait-for-schema.ts', 'lookup'], { DATABASE_URL: database.url });
  expect(done).toEqual({ status: 0, output: '' });
  await database.drop();
});

test('wait-for-schema.ts exits START_DELAY_SECONDS after it has found the schema complete', async () => {
  const database = await createTestDatabase();
  const began = performance.now();
  const environment = { DATABASE_URL: database.url, START_DELAY_SECONDS: '3' };
  expect(await runProgram(['wait-for-schema.ts', 'lookup'], environment)).toEqual({ status: 0, output: '' });
  expect(performance.now() - began).toBeGreaterThan(3_000);
  await database.drop();
});

test('wait-for-schema.ts waits for a missing schema, prints its name, and exits on SIGTERM', async () => {
  const url = new URL(inject('postgresUrl'));
  const child = spawn(process.execPath, [join(import.meta.dirname, 'wait-for-schema.ts'), 'lookup'], {
    env: { DATABASE_URL: url.href },
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  expect(line.toString()).toContain('the schema lookup');
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([143, null]);
});

test('while it waits, its admin port shows that and its version, but no start of a process; it exits with 0 when the schema is complete', async () => {
  const database = await createTestDatabase();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query('ALTER TABLE lookup.schema_migrations RENAME TO kept');
  const [port = 0] = await freePorts(1);
  const child = spawn(process.execPath, [join(import.meta.dirname, 'wait-for-schema.ts'), 'lookup'], {
    env: { DATABASE_URL: database.url, ADMIN_PORT: String(port) },
    stdio: 'ignore',
  });
  const exit = once(child, 'exit');
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
  const shown = async () => {
    const text = (await (await get('/metrics'))?.text()) ?? '';
    return text.split('\n').filter((line) => /^(?:schema_current|build_info|process_|nodejs_)/.test(line));
  };

  await expect.poll(shown).toEqual([`build_info{version="${packageJson.version}"} 1`, 'schema_current 0']);
  expect((await get('/livez'))?.status).toBe(200);
  expect((await get('/readyz'))?.status).toBe(503);
  await client.query('ALTER TABLE lookup.kept RENAME TO schema_migrations');
  expect(await exit).toEqual([0, null]);

  await client.end();
  await database.drop();
});

test('a service without a schema is refused, with the names of those that have one', async () => {
  const { status, output } = await runProgram(['wait-for-schema.ts', 'gateway'], {});
  expect(status).toBe(1);
  expect(output).toContain('activity, auth, bindings, events, lookup, members, moderation');
});

/** A database without the latest migrations of lookup, and a session that uses the table which the first of them changes. */
async function lockTable() {
  const database = await createTestDatabase();
  const client = new Client({ connectionString: database.url, application_name: 'backup' });
  await client.connect();
  await client.query("DELETE FROM lookup.schema_migrations WHERE name >= '0008_audit'");
  await client.query('ALTER TABLE lookup.events DROP COLUMN before; DROP TABLE lookup.leases');
  await client.query('BEGIN');
  await client.query('LOCK TABLE lookup.events IN ACCESS SHARE MODE');
  const stop = async () => {
    await client.end();
    await database.drop();
  };
  return { url: database.url, client, stop };
}

test('migrate.ts fails if a table stays locked for MIGRATE_LOCK_WAIT_SECONDS, and prints who locks it', async () => {
  const { url, client, stop } = await lockTable();
  const environment = { DATABASE_URL: url, MIGRATE_LOCK_WAIT_SECONDS: '1' };
  const failed = await runProgram(['migrate.ts'], environment);
  expect(failed.status).toBe(1);
  expect(failed.output).toContain('0008_audit.sql failed: canceling statement due to lock timeout');
  expect(failed.output).toContain('AccessExclusiveLock on lookup.events is blocked by process');
  expect(failed.output).toContain('application backup');
  await client.query('COMMIT');
  const applied = ['0008_audit', '0009_leases', '0010_count_parts'].map((name) => `applied lookup/${name}\n`);
  expect(await runProgram(['migrate.ts'], environment)).toEqual({ status: 0, output: applied.join('') });
  await stop();
});

test('SIGTERM ends migrate.ts while it waits for a lock, and its sessions in PostgreSQL', async () => {
  const { url, stop } = await lockTable();
  const child = spawn(process.execPath, [join(import.meta.dirname, 'migrate.ts')], { env: { DATABASE_URL: url } });
  let output = '';
  child.stdout.on('data', (text: Buffer) => (output += text.toString()));
  const exit = once(child, 'exit');
  await expect.poll(() => output).toContain('waiting: AccessExclusiveLock on lookup.events is blocked by process');
  child.kill('SIGTERM');
  expect(await exit).toEqual([143, null]);
  const sessions = `SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'migrate%'`;
  await expect.poll(() => databaseRows(url, sessions)).toEqual([]);
  await stop();
});

test('an unreachable server is waited for, up to the given number of seconds', async () => {
  const [port = 0] = await freePorts(1);
  const url = `postgres://127.0.0.1:${port}/x`;
  await expect(untilReachable(url, 1)).rejects.toThrow('ECONNREFUSED');
});

test('a server that rejects the connection is not waited for', async () => {
  const url = new URL(inject('postgresUrl'));
  url.pathname = '/there_is_no_such_database';
  await expect(untilReachable(url.href, 60)).rejects.toThrow('does not exist');
});

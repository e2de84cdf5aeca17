import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, inject, test } from 'vitest';
import { freePorts } from '#local/ports.ts';
import { createTestDatabase } from '#test/postgres/database.ts';
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

test('while it waits, its admin port shows that and its version; it exits with 0 when the schema is complete', async () => {
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
    return text.split('\n').filter((line) => /^(schema_current|build_info)/.test(line));
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

import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { processesUsing, runScript } from '#test/system/processes.ts';
import { startPostgres, VOLATILE } from './postgres.ts';

const LIFE = join(import.meta.dirname, 'fixtures', 'postgres.ts');
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'guild-data-postgres-'));
  chmodSync(folder, 0o700);
});

afterEach(() => rmSync(folder, { recursive: true }));

const life = ([program = '', ...parameters]: string[]): string =>
  execFileSync(program, parameters, { encoding: 'utf8' });

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

test('the server requires its password, stores it privately, and leaves no process behind', async () => {
  const server = await startPostgres({ folder, settings: VOLATILE });
  expect(statSync(join(folder, 'password')).mode & 0o777).toBe(0o600);
  expect(server.url).toContain(readFileSync(join(folder, 'password'), 'utf8').trim());
  const wrong = new URL(server.url);
  wrong.password = 'guess';
  await expect(connect(wrong.href)).rejects.toThrow('password authentication failed');
  const client = await connect(server.url);
  expect((await client.query('SHOW server_version')).rows[0]).toEqual({
    server_version: expect.stringMatching(/^18\./),
  });
  await client.end();
  await server.stop();
  expect(processesUsing(folder)).toEqual([]);
});

test('it writes durably by default', async () => {
  const server = await startPostgres({ folder });
  const client = await connect(server.url);
  const { rows } = await client.query(
    "SELECT string_agg(setting, ' ' ORDER BY name) AS settings FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit')",
  );
  expect(rows).toEqual([{ settings: 'on on on' }]);
  await client.end();
  await server.stop();
});

test('after kill -9 of the server a new one starts with its data while old sessions still end', async () => {
  const server = await startPostgres({ folder });
  const client = await connect(server.url);
  await client.query('CREATE TABLE kept AS SELECT 1 AS id');
  // A busy session runs on for a while after its server was killed.
  const busy = client.query('SELECT pg_sleep(60)').catch(() => 'cut');
  await expect.poll(() => processesUsing(folder).length).toBeGreaterThan(1);
  process.kill(server.pid, 'SIGKILL');
  const again = await startPostgres({ folder });
  expect(await busy).toBe('cut');
  const other = await connect(again.url);
  expect((await other.query('SELECT id FROM kept')).rows).toEqual([{ id: 1 }]);
  await other.end();
  await again.stop();
});

test('a server that was not stopped is ended, and a new one starts', async () => {
  const forgotten = await startPostgres({ folder });
  const again = await startPostgres({ folder });
  expect(again.pid).not.toBe(forgotten.pid);
  await expect(connect(forgotten.url)).rejects.toThrow('ECONNREFUSED');
  await again.stop();
});

test('a postmaster.pid with the process ID of an unrelated process does not prevent a start', async () => {
  const first = await startPostgres({ folder });
  const file = join(folder, 'data', 'postmaster.pid');
  const text = readFileSync(file, 'utf8');
  await first.stop();
  const unrelated = isRoot
    ? runScript(['setpriv', `--reuid=${NOBODY}`, '--clear-groups', 'sleep', '60'], {})
    : runScript(['sleep', '60'], {});
  onTestFinished(() => {
    unrelated.process.kill();
  });
  writeFileSync(file, text.replace(/^\d+/, String(unrelated.process.pid)));
  const again = await startPostgres({ folder });
  await again.stop();
  expect(unrelated.process.exitCode).toBeNull();
});

test('an unfinished data folder of a start that was killed is created again', async () => {
  mkdirSync(join(folder, 'data.new', 'base'), { recursive: true });
  const server = await startPostgres({ folder, settings: VOLATILE });
  await server.stop();
  expect(() => statSync(join(folder, 'data.new'))).toThrow('ENOENT');
});

test('an error says why a server cannot start and what to do', async () => {
  const settings = { ...VOLATILE, shared_buffers: 'nonsense' };
  await expect(startPostgres({ folder, settings })).rejects.toThrow(
    /PostgreSQL could not be started: .*set DATABASE_URL .*invalid value for parameter "shared_buffers"/s,
  );
});

test('as root it runs as another user, in a folder that only root may enter', async () => {
  if (!isRoot) return;
  const closed = join(folder, 'closed', 'deeper');
  mkdirSync(closed, { recursive: true, mode: 0o700 });
  const server = await startPostgres({ folder: closed, settings: VOLATILE });
  expect(statSync(join(closed, 'data')).uid).toBe(NOBODY);
  const uids = /^Uid:\s+(\d+)\s+(\d+)/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'));
  expect(uids?.slice(1)).toEqual([String(NOBODY), String(NOBODY)]);
  await server.stop();
});

test('an ordinary user can start it, and root and that user can use the same data folder one after the other', async () => {
  const asRoot = [process.execPath, LIFE, folder];
  // The one capability lets him read a checkout that may be closed to him; the data folder is his own.
  const capability = ['--inh-caps', '+dac_read_search', '--ambient-caps', '+dac_read_search'];
  const securebits = ['--securebits', '+no_setuid_fixup'];
  const user = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', ...capability, ...securebits];
  const asUser = isRoot ? [...user, '--', ...asRoot] : asRoot;
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  const uid = isRoot ? NOBODY : process.getuid?.();
  expect(life(asUser)).toBe(`user ${uid}, lives 1\n`);
  expect(life(asRoot)).toBe(`user ${process.getuid?.()}, lives 2\n`);
  expect(life(asUser)).toBe(`user ${uid}, lives 3\n`);
});

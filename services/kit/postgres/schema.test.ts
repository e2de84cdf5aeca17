import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { beforeEach, expect, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { migrate } from './migrations/migrate.ts';
import { type Database, openDatabase } from './pool.ts';
import { waitForSchema } from './schema.ts';

let testDatabase: TestDatabase;
let directory: string;
let logged: string[];
const log = pino({ level: 'info' }, { write: (line: string) => void logged.push(JSON.parse(line).missing as string) });

beforeEach(async () => {
  logged = [];
  testDatabase = await createTestDatabase();
  directory = mkdtempSync(join(tmpdir(), 'migrations-'));
  return async () => {
    rmSync(directory, { recursive: true });
    await testDatabase.drop();
  };
});

function open(url: string): Database {
  return openDatabase({ url, poolMax: 1, name: 'kit-test', metrics: new Metrics(), log: pino({ level: 'silent' }) });
}

const write = (name: string) => writeFileSync(join(directory, name), 'SELECT 1');
const run = () => migrate({ url: testDatabase.url, service: 'fleet', directory });

test('a service waits for its newest migration, logs what is missing, and accepts newer migrations', async () => {
  const database = open(testDatabase.url);
  const signal = new AbortController().signal;
  const wait = () => waitForSchema(database, 'fleet', { log, metrics: new Metrics(), signal }, directory);
  await expect(wait()).rejects.toThrow('fleet has no migrations');

  write('0001_boats.sql');
  const ready = vi.fn<() => void>();
  const waiting = wait().then(ready);
  await expect.poll(() => logged).toEqual(['the schema fleet']);
  expect(ready).not.toHaveBeenCalled();
  await run();
  await waiting;

  write('0002_crews.sql');
  const again = wait();
  await expect.poll(() => logged).toEqual(['the schema fleet', 'migration 0002_crews of fleet']);
  await run();
  await again;
  rmSync(join(directory, '0002_crews.sql'));
  await wait();
  await database.close();
});

test('a stop ends the wait for an unreachable database, and the log has the reason', async () => {
  write('0001_boats.sql');
  const database = open('postgres://127.0.0.1:1/x');
  const stop = new AbortController();
  const parts = { log, metrics: new Metrics(), signal: stop.signal };
  const waiting = waitForSchema(database, 'fleet', parts, directory);
  await expect.poll(() => logged[0]).toContain('a connection (connect ECONNREFUSED 127.0.0.1:1)');
  stop.abort();
  await expect(waiting).rejects.toThrow('aborted');
  await database.close();
});

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, test, vi } from 'vitest';
import { MigrationRig } from '#kit/fixtures/migration-rig.ts';
import { WAITING_TOGETHER, withinBound } from '#test/measure/bounds.ts';
import { startTcpProxy } from '#test/network/tcp-proxy.ts';
import { PATIENCE } from '#test/patience.ts';
import { inheritedEnvironment } from '#test/system/processes.ts';

const PROGRAM = join(import.meta.dirname, '../../fixtures/migrate.ts');
const SLOW = 'ALTER TABLE harbour.boats ADD COLUMN length int; SELECT pg_sleep(600);';
const INDEX = 'CREATE INDEX CONCURRENTLY IF NOT EXISTS boats_name ON harbour.boats (name);';
/** The time in which PostgreSQL notices that the process of a session has gone, at worst. */
const NOTICE_MS = 2_000;
/**
 * The same if the network is cut, for a session that waits for its client: IDLE_MS of session.ts, the second
 * that each of the two migrations takes, and the pause between two attempts to take the lock.
 */
const CUT_MS = 15_000;

/** Runs the migrations in a child process. Resolves once its PostgreSQL session executes a statement that contains the text. */
async function startProcess(rig: MigrationRig, text: string): Promise<ChildProcess> {
  const env = inheritedEnvironment() as NodeJS.ProcessEnv;
  const child = spawn(process.execPath, [PROGRAM, rig.url, rig.service, rig.directory], { env, stdio: 'ignore' });
  await rig.untilRunning(text);
  return child;
}

/** Ends the process with a signal; returns the milliseconds until PostgreSQL has ended its sessions. */
async function endBy(signal: NodeJS.Signals, child: ChildProcess, rig: MigrationRig): Promise<number> {
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
  const begun = performance.now();
  await vi.waitUntil(async () => (await rig.countSessions()) === 0, { ...PATIENCE, interval: 20 });
  return performance.now() - begun;
}

describe('when migrations are interrupted', WAITING_TOGETHER, () => {
  test.for(['SIGKILL', 'SIGTERM'] as const)(
    '%s during a long statement leaves no session in PostgreSQL, and the table is free again',
    async (signal, context) => {
      const { expect } = context;
      const rig = await MigrationRig.start(context);
      rig.write('0002_slow', SLOW);
      const child = await startProcess(rig, 'pg_sleep');
      withinBound(`sessions end after ${signal} of the migrating process`, await endBy(signal, child, rig), NOTICE_MS);
      await rig.client.query('INSERT INTO harbour.boats VALUES (1)');
      rig.write('0002_slow', SLOW.replace('600', '0'));
      expect(await rig.run()).toEqual(['0002_slow']);
    },
  );

  test('a concurrent index that a killed process has left incomplete is dropped and built again', async (context) => {
    const { expect } = context;
    const rig = await MigrationRig.start(context);
    rig.write('0002_name', INDEX);
    const writer = await rig.connect('writer');
    await writer.query('BEGIN');
    await writer.query('INSERT INTO harbour.boats VALUES (1)');
    const child = await startProcess(rig, 'CREATE INDEX');
    await vi.waitFor(async () => expect(await rig.isValid('boats_name')).toBe(false), PATIENCE);
    withinBound('sessions end after SIGKILL while they wait for a lock', await endBy('SIGKILL', child, rig), NOTICE_MS);
    expect(await rig.isValid('boats_name')).toBe(false);
    await writer.query('COMMIT');
    expect(await rig.run()).toEqual(['0002_name']);
    expect(rig.reports).toEqual([
      'dropping the index "harbour"."boats_name", which an interrupted migration has left incomplete',
    ]);
    expect(await rig.isValid('boats_name')).toBe(true);
  });

  test('an index that was created, but not recorded before the process was killed, stays', async (context) => {
    const { expect } = context;
    const rig = await MigrationRig.start(context);
    rig.write('0002_name', INDEX);
    await rig.client.query(INDEX);
    const oid = async () => (await rig.client.query("SELECT 'harbour.boats_name'::regclass::oid AS oid")).rows;
    const before = await oid();
    expect(await rig.run()).toEqual(['0002_name']);
    expect(await oid()).toEqual(before);
  });

  test('after the network was cut, PostgreSQL ends the session, and the next migrator continues', async (context) => {
    const { expect } = context;
    const rig = await MigrationRig.start(context);
    rig.write('0002_length', 'ALTER TABLE harbour.boats ADD COLUMN length int; SELECT pg_sleep(1);');
    const url = new URL(rig.url);
    const proxy = await startTcpProxy(Number(url.port));
    context.onTestFinished(() => proxy.close());
    url.port = String(proxy.port);
    const cut = rig.run({ url: url.href });
    const failed = expect(cut).rejects.toThrow('0002_length.sql failed: ');
    await rig.untilRunning('pg_sleep');
    proxy.freezeAll();
    const begun = performance.now();
    expect(await rig.run()).toEqual(['0002_length']);
    withinBound('a migrator continues after the network of another was cut', performance.now() - begun, CUT_MS);
    await proxy.close();
    await failed;
  });

  test('PostgreSQL notices within 25 s that the host of a migrator is gone, also while a statement runs', async (context) => {
    const { expect } = context;
    const rig = await MigrationRig.start(context);
    const seen = `SELECT name, setting::int FROM pg_catalog.pg_settings
      WHERE name LIKE 'tcp_%' OR name = 'client_connection_check_interval'`;
    rig.write('0002_settings', `CREATE TABLE harbour.settings AS ${seen}`);
    await rig.run();
    const { rows } = await rig.client.query<{ name: string; setting: number }>('SELECT * FROM harbour.settings');
    const value = (name: string) => rows.find((row) => row.name === name)?.setting ?? 0;
    const silence = value('tcp_keepalives_idle') + value('tcp_keepalives_interval') * value('tcp_keepalives_count');
    expect(value('tcp_keepalives_idle')).toBeGreaterThan(0);
    expect(silence).toBeLessThanOrEqual(25);
    expect(value('tcp_user_timeout')).toBe(25_000);
    expect(value('client_connection_check_interval')).toBe(1_000);
  });
});

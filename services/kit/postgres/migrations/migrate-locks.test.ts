import { describe, test, vi } from 'vitest';
import { MigrationRig } from '#kit/fixtures/migration-rig.ts';
import { READ_MS } from '#kit/postgres/connection.ts';
import { openMigrationSession } from '#kit/postgres/migrations/session.ts';
import { WAITING_TOGETHER, withinBound } from '#test/measure/bounds.ts';
import { PATIENCE } from '#test/patience.ts';

const ADD_COLUMN = 'ALTER TABLE harbour.boats ADD COLUMN length int;';
const SESSION = `SELECT application_name AS application, client_addr AS address, state, xact_start
  FROM pg_stat_activity WHERE pid = $1`;
const BLOCKER = (pid: number) =>
  `is blocked by process ${pid} (role guild, application backup, from 127.0.0.1, idle in transaction, transaction open for`;

/** Opens a transaction that has read the table, as a backup does. Returns its process ID and how to end it. */
async function openBackup(rig: MigrationRig): Promise<{ pid: number; end: () => Promise<unknown> }> {
  const backup = await rig.connect('backup');
  await backup.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  const { rows } = await backup.query<{ pid: number }>(
    'SELECT pg_backend_pid() AS pid FROM (SELECT count(*) FROM harbour.boats) AS boats',
  );
  return { pid: rows[0]?.pid ?? 0, end: () => backup.query('COMMIT') };
}

/** Reads the table until `ended`; returns the longest time that a read took. */
async function readUntil(rig: MigrationRig, ended: () => boolean): Promise<number> {
  const reader = await rig.connect('reader');
  let longest = 0;
  while (!ended()) {
    const begun = performance.now();
    await reader.query('SELECT count(*) FROM harbour.boats');
    longest = Math.max(longest, performance.now() - begun);
  }
  return longest;
}

test.for(['', '?options=-c%20statement_timeout%3D5000'])(
  'a session that migrates has its own settings with the URL parameters "%s"',
  async (parameters, context) => {
    const { expect } = context;
    const rig = await MigrationRig.start(context);
    const client = await openMigrationSession(rig.url + parameters);
    context.onTestFinished(() => client.end());
    const { rows } = await client.query(
      "SELECT current_setting('lock_timeout') AS lock, current_setting('statement_timeout') AS statement, current_setting('idle_session_timeout') AS idle",
    );
    expect(rows).toEqual([{ lock: '1200ms', statement: '0', idle: '10s' }]);
  },
);

test('a role without the rights of pg_read_all_stats sees the application that blocks it, but not its address or state', async (context) => {
  const { expect } = context;
  const rig = await MigrationRig.start(context);
  const { pid } = await openBackup(rig);
  const { rows: owner } = await rig.client.query(SESSION, [pid]);
  expect(owner).toMatchObject([{ application: 'backup', address: '127.0.0.1', state: 'idle in transaction' }]);
  await rig.client.query('BEGIN; CREATE ROLE harbour_stranger; SET LOCAL ROLE harbour_stranger');
  const { rows: stranger } = await rig.client.query(SESSION, [pid]);
  expect(stranger).toEqual([{ application: 'backup', address: null, state: null, xact_start: null }]);
});

describe('while another session has a lock', WAITING_TOGETHER, () => {
  test('a migration gives up soon so that reads go on, reports who blocks it, and is tried again', async (context) => {
    const { expect } = context;
    const rig = await MigrationRig.start(context);
    rig.write('0002_length', ADD_COLUMN);
    const backup = await openBackup(rig);
    const running = rig.run();
    const retries = () => rig.reports.filter((line) => line.startsWith('harbour/0002_length is tried again in '));
    const longest = await readUntil(rig, () => retries().length >= 2);
    withinBound('the longest read while a migration waits for its table', longest, READ_MS);
    const blocked = `AccessExclusiveLock on harbour.boats ${BLOCKER(backup.pid)}`;
    expect(rig.reports[0]).toContain(`waiting: ${blocked}`);
    expect(retries()[0]).toContain(`canceling statement due to lock timeout; ${blocked}`);
    await backup.end();
    expect(await running).toEqual(['0002_length']);
  });

  test('after its patience the migration fails and names who blocks it; nothing of it is applied', async (context) => {
    const { expect } = context;
    const rig = await MigrationRig.start(context);
    rig.write('0002_length', `CREATE TABLE harbour.crews (id int); ${ADD_COLUMN}`);
    const backup = await openBackup(rig);
    await expect(rig.run({ lockPatienceMs: 2_000 })).rejects.toThrow(
      `0002_length.sql failed: canceling statement due to lock timeout; AccessExclusiveLock on harbour.boats ${BLOCKER(backup.pid)}`,
    );
    expect((await rig.client.query("SELECT to_regclass('harbour.crews') AS name")).rows).toEqual([{ name: null }]);
    await backup.end();
    expect(await rig.run()).toEqual(['0002_length']);
  });

  test('the time that a migration runs before it waits for a lock is not part of its patience', async (context) => {
    const { expect } = context;
    const rig = await MigrationRig.start(context);
    rig.write('0002_length', `SELECT pg_sleep(2); ${ADD_COLUMN}`);
    const backup = await openBackup(rig);
    const running = rig.run({ lockPatienceMs: 3_000 });
    const retry = () => rig.reports.find((line) => line.startsWith('harbour/0002_length is tried again in '));
    await Promise.race([running, vi.waitFor(() => expect(retry()).toBeDefined(), PATIENCE)]);
    await backup.end();
    expect(await running).toEqual(['0002_length']);
  });

  test('an index that cannot be built within the patience is left incomplete; the next run builds it again', async (context) => {
    const { expect } = context;
    const rig = await MigrationRig.start(context);
    rig.write('0002_name', 'CREATE INDEX CONCURRENTLY IF NOT EXISTS boats_name ON harbour.boats (name);');
    const backup = await openBackup(rig);
    await rig.client.query('INSERT INTO harbour.boats VALUES (1)');
    await expect(rig.run({ lockPatienceMs: 2_000 })).rejects.toThrow('canceling statement due to lock timeout');
    expect(rig.reports.filter((line) => line.includes('tried again'))).toEqual([]);
    expect(await rig.isValid('boats_name')).toBe(false);
    await backup.end();
    expect(await rig.run()).toEqual(['0002_name']);
    expect(await rig.isValid('boats_name')).toBe(true);
  });

  test('an index is built concurrently: it waits for old transactions, which it reports, and writes go on', async (context) => {
    const { expect } = context;
    const rig = await MigrationRig.start(context);
    rig.write('0002_name', 'CREATE INDEX CONCURRENTLY IF NOT EXISTS boats_name ON harbour.boats (name);');
    const backup = await openBackup(rig);
    await rig.client.query('INSERT INTO harbour.boats VALUES (1)');
    const running = rig.run();
    await vi.waitFor(
      () => expect(rig.reports[0]).toContain(`waiting: ShareLock on a transaction ${BLOCKER(backup.pid)}`),
      PATIENCE,
    );
    const begun = performance.now();
    await rig.client.query('INSERT INTO harbour.boats VALUES (2)');
    withinBound('a write while an index is built', performance.now() - begun, 500);
    expect(await rig.isValid('boats_name')).toBe(false);
    await backup.end();
    expect(await running).toEqual(['0002_name']);
    expect(await rig.isValid('boats_name')).toBe(true);
  });

  test('a second migrator reports the first one, and no session waits in PostgreSQL for it', async (context) => {
    const { expect } = context;
    const rig = await MigrationRig.start(context);
    rig.write('0002_length', ADD_COLUMN);
    const backup = await openBackup(rig);
    const running = rig.run({ report: () => {} });
    await rig.untilRunning('ADD COLUMN');
    const second = rig.run();
    await vi.waitFor(
      () =>
        expect(rig.reports[0]).toMatch(
          /^waiting for another migration: process \d+ \(role guild, application migrate,/,
        ),
      PATIENCE,
    );
    const waiting = await rig.client.query("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
    expect(waiting.rowCount).toBe(0);
    await backup.end();
    expect([await running, await second]).toEqual([['0002_length'], []]);
  });
});

import { pino } from 'pino';
import { describe, expect, type TestContext, test } from 'vitest';
import { WAITING_TOGETHER, withinBound } from '#test/measure/bounds.ts';
import { startTcpProxy, type TcpProxy } from '#test/network/tcp-proxy.ts';
import { createTestDatabase } from '#test/postgres/database.ts';
import { soon } from '#test/soon.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { type Database, openDatabase } from './pool.ts';

const UNAVAILABLE = { code: 'UNAVAILABLE', retryAfter: 1 };
/** The time limit of the first call to a server that hangs. */
const FIRST_MS = 2_000;
/** The time limit of later calls. */
const IMMEDIATE_MS = 50;
const RECOVERY_MS = 5_000;
const SCHEMA = 'harbour';

/** What each test has of its own, because all of them run at the same time. */
interface Rig {
  proxy: TcpProxy;
  /** One database through the proxy, and one directly. */
  database: Database;
  direct: Database;
  logged: string[];
  read: () => Promise<unknown[]>;
  isOpen: () => Promise<boolean>;
}

async function startRig({ onTestFinished }: TestContext): Promise<Rig> {
  const testDatabase = await createTestDatabase();
  const url = new URL(testDatabase.url);
  const proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  const logged: string[] = [];
  const log = pino({}, { write: (line: string) => void logged.push((JSON.parse(line) as { msg: string }).msg) });
  const metrics = new Metrics();
  const database = openDatabase({ url: url.href, poolMax: 5, name: SCHEMA, metrics, log });
  const direct = openDatabase({ url: testDatabase.url, poolMax: 5, name: 'direct', metrics: new Metrics(), log });
  onTestFinished(async () => {
    await proxy.close();
    await Promise.all([database.close(), direct.close()]);
    await testDatabase.drop();
  });
  await direct.query(`CREATE SCHEMA ${SCHEMA}`);
  await direct.query(`CREATE TABLE ${SCHEMA}.boats (id int PRIMARY KEY, name text)`);
  await direct.query(`INSERT INTO ${SCHEMA}.boats VALUES (1), (2)`);
  // All connections of the pool are open.
  await Promise.all(Array.from({ length: 5 }, () => database.query('SELECT pg_sleep(0.05)')));
  // On a slow machine this has caused a probe, and for a second after it no caller causes another one.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  return {
    proxy,
    database,
    direct,
    logged,
    read: () => database.query(`SELECT id FROM ${SCHEMA}.boats`),
    isOpen: async () => (await metrics.registry.metrics()).includes('breaker_open{dependency="postgres"} 1'),
  };
}

/** The time until a call failed with UNAVAILABLE. */
async function rejection(call: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await expect(call()).rejects.toMatchObject(UNAVAILABLE);
  return performance.now() - started;
}

const HANGS: [string, (proxy: TcpProxy) => void, (proxy: TcpProxy) => void][] = [
  ['accepts connections and responds to nothing', (network) => network.hold(), (network) => network.release()],
  ['disappears without closing its connections', (network) => network.freezeAll(), (network) => network.thaw()],
];

describe('a pool', WAITING_TOGETHER, () => {
  test.for(HANGS)(
    'a server that %s: the first callers wait two seconds, later ones fail immediately, and none waits after its return',
    async ([how, begin, end], context) => {
      const { proxy, database, logged, read, isOpen } = await startRig(context);
      begin(proxy);
      const first = await Promise.all(Array.from({ length: 8 }, () => rejection(read)));
      withinBound(`the first callers of a server that ${how}`, Math.max(...first), FIRST_MS);
      await soon(async () => expect(await isOpen()).toBe(true));
      const later: number[] = [];
      // Longer than several probes take.
      const until = performance.now() + 4_000;
      while (performance.now() < until) {
        later.push(await rejection(read), await rejection(() => database.transaction(async () => undefined)));
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      withinBound(`later callers of a server that ${how}`, Math.max(...later), IMMEDIATE_MS);
      end(proxy);
      const started = performance.now();
      await soon(async () => expect(await isOpen()).toBe(false));
      withinBound(`PostgreSQL is used again after a hang`, performance.now() - started, RECOVERY_MS);
      // No caller gets a connection that died during the hang.
      const all = await Promise.all(Array.from({ length: 5 }, read));
      expect(all.map(({ length }) => length)).toEqual([2, 2, 2, 2, 2]);
      expect(logged.filter((line) => line.startsWith('PostgreSQL'))).toEqual([
        'PostgreSQL does not respond: statements are rejected until it does',
        'PostgreSQL responds again',
      ]);
    },
  );

  test('the probe detects a table that is locked against reads, and its unlocking', async (context) => {
    const { direct, read, isOpen } = await startRig(context);
    const release = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const locking = direct.transaction(async (transaction) => {
      await transaction.query(`LOCK TABLE ${SCHEMA}.boats IN ACCESS EXCLUSIVE MODE`);
      locked.resolve();
      await release.promise;
    });
    await locked.promise;
    withinBound('the first caller of a locked table', await rejection(read), FIRST_MS);
    await soon(async () => expect(await isOpen()).toBe(true));
    withinBound('later callers of a locked table', await rejection(read), IMMEDIATE_MS);
    release.resolve();
    await locking;
    await soon(async () => expect(await isOpen()).toBe(false));
    expect(await read()).toHaveLength(2);
  });

  test('callers with slow reads or waits for a row open no breaker, and use no more connections than the pool has', async (context) => {
    const { database, direct, logged, read, isOpen } = await startRig(context);
    const release = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const locking = direct.transaction(async (transaction) => {
      await transaction.query(`UPDATE ${SCHEMA}.boats SET name = 'held' WHERE id = 1`);
      locked.resolve();
      await release.promise;
    });
    await locked.promise;
    const writing = database.query(`UPDATE ${SCHEMA}.boats SET name = 'waits' WHERE id = 1 RETURNING id`);
    const slow = Array.from({ length: 12 }, () => rejection(() => database.query('SELECT pg_sleep(4)')));
    const running = async () =>
      (await direct.query("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(4)%' AND state = 'active'"))
        .length;
    await soon(async () => expect(await running()).toBe(4));
    const waits = await Promise.all(slow);
    withinBound('a caller of a slow read', Math.max(...waits), FIRST_MS);
    expect(await running()).toBeLessThanOrEqual(4);
    expect(await isOpen()).toBe(false);
    // A write waits for its own timeout, which is longer than that of the reads.
    release.resolve();
    await locking;
    expect(await writing).toEqual([{ id: 1 }]);
    await soon(async () => expect(await read()).toHaveLength(2));
    expect(logged).toEqual([]);
  });

  test('a slow network does not open the breaker while there are responses', async (context) => {
    const { proxy, read, isOpen } = await startRig(context);
    proxy.slow(300);
    const all = await Promise.all(Array.from({ length: 5 }, read));
    expect(all.map(({ length }) => length)).toEqual([2, 2, 2, 2, 2]);
    await Promise.all(Array.from({ length: 5 }, read));
    await Promise.all(Array.from({ length: 5 }, read));
    expect(await isOpen()).toBe(false);
    proxy.slow(0);
  });

  test('reset connections are replaced immediately, without opening the breaker', async (context) => {
    const { proxy, read, isOpen } = await startRig(context);
    proxy.resetAfter(1);
    await rejection(read);
    proxy.resetAfter(null);
    // Each open connection is reset when it is used.
    await soon(async () => expect(await read()).toHaveLength(2));
    expect(await isOpen()).toBe(false);
  });

  test('a commit whose response is lost is not retried, and fails after the timeout of a statement', async (context) => {
    const { proxy, database, direct } = await startRig(context);
    const committing = database.transaction(async (transaction) => {
      await transaction.query(`INSERT INTO ${SCHEMA}.boats VALUES (3)`);
      proxy.dropResponses();
    });
    const started = performance.now();
    await expect(committing).rejects.toMatchObject(UNAVAILABLE);
    expect(performance.now() - started).toBeGreaterThan(4_900);
    // The commit was executed exactly once, which the caller cannot know.
    expect(await direct.query(`SELECT id FROM ${SCHEMA}.boats WHERE id = 3`)).toEqual([{ id: 3 }]);
  });
});

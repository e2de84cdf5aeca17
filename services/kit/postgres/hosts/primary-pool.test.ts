import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTcpProxy, type TcpProxy } from '#test/network/tcp-proxy.ts';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { Metrics } from '../../telemetry/metrics.ts';
import { Listener } from '../notifications/listener.ts';
import { Notifier } from '../notifications/notifier.ts';
import { type Database, openDatabase } from '../pool.ts';
import { PrimaryFinder } from './primary-finder.ts';

const log = pino({ level: 'silent' });
const UNAVAILABLE = expect.objectContaining({ code: 'UNAVAILABLE' });
/** Recovery is expected within seconds; the rest is patience with a busy machine. */
const SOON = { timeout: 20_000, interval: 50 };

let testDatabase: TestDatabase;
/** Two ways to the same server, so that each host can fail on its own. */
let first: TcpProxy;
let second: TcpProxy;
let metrics: Metrics;

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  const target = Number(new URL(testDatabase.url).port);
  [first, second] = await Promise.all([startTcpProxy(target), startTcpProxy(target)]);
  metrics = new Metrics();
});
afterEach(async () => {
  await Promise.all([first.close(), second.close()]);
  await testDatabase.drop();
});

/** The URL of the database with these ports of this machine as hosts. */
function urlOf(...ports: number[]): string {
  const { username, password, pathname } = new URL(testDatabase.url);
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
  return `postgres://${username}:${password}@${hosts}${pathname}?target_session_attrs=read-write`;
}

async function using(work: (database: Database) => Promise<void>, url = urlOf(first.port, second.port)): Promise<void> {
  const database = openDatabase({ url, poolMax: 2, name: 'kit-test', metrics, log });
  try {
    await work(database);
  } finally {
    await database.close();
  }
}

const works = async (database: Database) => (await database.query('SELECT 1 AS one').catch(() => [])).length === 1;
const switches = () => metrics.registry.getSingleMetricAsString('postgres_primary_switches_total');

test('the first host that accepts writes is used, whatever happens to the others', () =>
  using(
    async (database) => {
      expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    },
    urlOf(1, second.port),
  ));

test.each([
  ['refuses connections', () => first.refuse()],
  ['no longer responds', async () => first.freezeAll()],
])('statements go to another host once the one in use %s', (_what, fail) =>
  using(async (database) => {
    await second.refuse();
    expect(await works(database)).toBe(true);
    await second.accept();
    await fail();
    await expect.poll(() => works(database), SOON).toBe(true);
    await expect.poll(switches, SOON).toContain('postgres_primary_switches_total 1');
  }),
);

test('a transaction on a host that failed is rolled back and reported, not repeated', () =>
  using(async (database) => {
    await second.refuse();
    const failing = database.transaction(async (transaction) => {
      await transaction.query('CREATE TABLE public.half (id int)');
      await second.accept();
      await first.refuse();
      await transaction.query('INSERT INTO public.half VALUES (1)');
    });
    await expect(failing).rejects.toThrow(UNAVAILABLE);
    await expect.poll(() => works(database), SOON).toBe(true);
    expect(await database.query("SELECT to_regclass('public.half') AS half")).toEqual([{ half: null }]);
  }));

test('a host that does not accept writes is not used, and once it does, statements run without a restart', () =>
  using(async (database) => {
    const name = new URL(testDatabase.url).pathname.slice(1);
    const setup = openDatabase({ url: testDatabase.url, poolMax: 1, name: 'setup', metrics: new Metrics(), log });
    await setup.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    await expect(database.query('SELECT 1')).rejects.toThrow(UNAVAILABLE);
    await setup.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
    await setup.close();
    await expect.poll(() => works(database), SOON).toBe(true);
  }));

test('hosts that take longer than a second to accept a connection are found by a later search', async () => {
  // Signing in takes several round trips.
  for (const host of [first, second]) host.slow(250);
  const finder = new PrimaryFinder(urlOf(first.port, second.port), 'kit-test');
  await expect(finder.find()).rejects.toThrow('no host accepts writes');
  await expect.poll(() => finder.find().catch(() => undefined), SOON).toBe(finder.urls[0]);
});

test('while no host accepts writes, callers are rejected without waiting', () =>
  using(async (database) => {
    expect(await works(database)).toBe(true);
    await Promise.all([first.refuse(), second.refuse()]);
    await expect.poll(() => works(database), SOON).toBe(false);
    const started = performance.now();
    await Promise.all(
      Array.from({ length: 20 }, () => expect(database.query('SELECT 1')).rejects.toThrow(UNAVAILABLE)),
    );
    expect(performance.now() - started).toBeLessThan(1_000);
    await second.accept();
    await expect.poll(() => works(database), SOON).toBe(true);
  }));

test('LISTEN moves to another host, and reads the changes that it missed', () =>
  using(async (database) => {
    const received: string[] = [];
    let connections = 0;
    const listener = new Listener({
      url: urlOf(first.port, second.port),
      name: 'kit-test',
      channel: 'changes',
      log,
      metrics: new Metrics(),
      onNotification: (payload) => void received.push(payload),
      onListening: async () => void connections++,
      onVerified: () => undefined,
    });
    await second.refuse();
    await listener.start();
    await expect.poll(() => listener.isReceiving, SOON).toBe(true);
    await second.accept();
    first.freezeAll();
    await expect.poll(() => connections, SOON).toBeGreaterThan(1);
    const notifier = new Notifier({ database, channel: 'changes', log });
    await expect
      .poll(() => {
        notifier.notify('guild');
        return received;
      }, SOON)
      .toContain('guild');
    await notifier.drain();
    await listener.stop();
  }));

import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { withinBound } from '#test/measure/bounds.ts';
import { startTcpProxy, type TcpProxy } from '#test/network/tcp-proxy.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { EventSweeper } from '../events/sweeper.ts';
import type { Database } from '../postgres/pool.ts';
import { createLog } from '../telemetry/log.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { LoopLeases, type TermLease } from './loop-leases.ts';

const SCHEMA = 'lookup';
const log = await createLog({ service: 'test', level: 'silent' });

interface Replica {
  leases: LoopLeases;
  lease: TermLease;
  metrics: Metrics;
  database: Database;
  /** Between the replica and the database. */
  proxy: TcpProxy;
}

let database: TestDatabase;
const replicas: Replica[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  for (const { leases, database: pool, proxy } of replicas.splice(0)) {
    proxy.thaw();
    await leases.stop();
    await pool.close();
    await proxy.close();
  }
  await databaseRows(database.url, `DELETE FROM ${SCHEMA}.leases`);
});
afterAll(() => database.drop());

async function newReplica(...names: string[]): Promise<Replica> {
  const url = new URL(database.url);
  const proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  const pool = await openTestPool(url.href);
  const metrics = new Metrics();
  const leases = new LoopLeases({ database: pool, schema: SCHEMA, metrics, log });
  const [lease] = names.map((name) => leases.of(name));
  const replica = { leases, lease: lease as TermLease, metrics, database: pool, proxy };
  replicas.push(replica);
  await leases.start();
  return replica;
}

/** Reports if both replicas ever hold the lease at the same time. */
function watchBoth(one: Replica, other: Replica): { stop(): boolean } {
  let wereBoth = false;
  const timer = setInterval(() => {
    if (one.lease.isHeld && other.lease.isHeld) wereBoth = true;
  }, 5);
  return {
    stop: () => {
      clearInterval(timer);
      return wereBoth;
    },
  };
}

/** Waits until the other replica has taken the lease over; returns the milliseconds. */
async function takeover(other: Replica): Promise<number> {
  const startedAt = performance.now();
  await expect.poll(() => other.lease.isHeld, { interval: 10, timeout: 30_000 }).toBe(true);
  return performance.now() - startedAt;
}

test('of two replicas one owns each loop from its start on, and reports it', async () => {
  const [first, second] = [await newReplica('sweep', 'retention'), await newReplica('sweep', 'retention')];
  expect([first.lease.isHeld, second.lease.isHeld]).toEqual([true, false]);
  await first.leases.renew();
  await second.leases.renew();
  expect([first.lease.isHeld, second.lease.isHeld]).toEqual([true, false]);
  expect(await first.metrics.text()).toContain('loop_lease_held{loop="sweep"} 1');
  expect(await second.metrics.text()).toContain('loop_lease_held{loop="retention"} 0');
});

test('a loop that only another replica has is acquired by it', async () => {
  await newReplica('sweep');
  const second = await newReplica('new loop', 'sweep');
  expect(second.lease.isHeld).toBe(true);
});

test('a replica that stops gives its loops away at once', async () => {
  const [first, second] = [await newReplica('sweep'), await newReplica('sweep')];
  const both = watchBoth(first, second);
  await first.leases.stop();
  expect(first.lease.isHeld).toBe(false);
  withinBound('a loop of a stopped owner has another owner', await takeover(second), 2_500);
  expect(both.stop()).toBe(false);
});

test('the loops of a killed owner have another one after its leases have ended', async () => {
  const [first, second] = [await newReplica('sweep'), await newReplica('sweep')];
  await first.proxy.refuse();
  const both = watchBoth(first, second);
  withinBound('a loop of a killed owner has another owner', await takeover(second), 8_500);
  expect(both.stop()).toBe(false);
  await first.proxy.accept();
});

test('an owner whose renewals hang stops before another one begins, and is no owner afterwards', async () => {
  const [first, second] = [await newReplica('sweep'), await newReplica('sweep')];
  const both = watchBoth(first, second);
  first.proxy.freezeAll();
  withinBound('a loop of a stalled owner has another owner', await takeover(second), 8_500);
  expect(first.lease.isHeld).toBe(false);
  first.proxy.thaw();
  first.proxy.cut();
  await first.leases.renew();
  expect([first.lease.isHeld, both.stop()]).toEqual([false, false]);
});

test('an owner that was suspended does not hold its leases when it continues', async () => {
  const [first, second] = [await newReplica('sweep'), await newReplica('sweep')];
  // The state after a suspension: another replica has the row, and this one has not renewed it.
  await databaseRows(database.url, `UPDATE ${SCHEMA}.leases SET leased_until = '-infinity'`);
  await second.leases.renew();
  await first.leases.renew();
  expect([first.lease.isHeld, second.lease.isHeld]).toEqual([false, true]);
  // It does not give away what another replica owns.
  await first.leases.stop();
  expect(await databaseRows(database.url, `SELECT holder IS NOT NULL AS held FROM ${SCHEMA}.leases`)).toEqual([
    { held: true },
  ]);
});

test('a renewal in time continues the term of an owner; an owner that was none in between begins a new term', async () => {
  const [first, second] = [await newReplica('sweep'), await newReplica('sweep')];
  const { term } = first.lease;
  await first.leases.renew();
  expect(first.lease).toMatchObject({ isHeld: true, term });
  await databaseRows(database.url, `UPDATE ${SCHEMA}.leases SET leased_until = '-infinity'`);
  await second.leases.renew();
  await first.leases.renew();
  expect([first.lease.isHeld, second.lease.isHeld]).toEqual([false, true]);
  await second.leases.stop();
  await expect.poll(() => first.lease.isHeld).toBe(true);
  const { term: next } = first.lease;
  expect(next).not.toBe(term);
  // Nobody else has acquired it, but this process could not know that.
  const now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockReturnValue(now + 7_000);
  await first.leases.renew();
  clock.mockRestore();
  expect(first.lease.isHeld).toBe(true);
  expect(first.lease.term).not.toBe(next);
});

test('a sweep runs on the owner only, and stops between two batches when the lease is lost', async () => {
  const [first, second] = [await newReplica('sweep'), await newReplica('sweep')];
  const batches: string[] = [];
  const sweeperOf = (name: string, { leases }: Replica) =>
    new EventSweeper({ sweeps: [{ name: 'sweep', sweep: async () => batches.push(name) < 3 }], leases, log });
  const sweepers = [sweeperOf('first', first), sweeperOf('second', second)];
  for (const sweeper of sweepers) await sweeper.start();
  await expect.poll(() => batches.length).toBeGreaterThan(3);
  expect(new Set(batches)).toEqual(new Set(['first']));
  await first.leases.stop();
  const before = batches.length;
  await expect.poll(() => batches.length).toBeGreaterThan(before);
  expect(new Set(batches.slice(before))).toEqual(new Set(['second']));
  for (const sweeper of sweepers) await sweeper.drain();
});

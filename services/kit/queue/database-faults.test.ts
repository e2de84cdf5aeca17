import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTcpProxy, type TcpProxy } from '#test/network/tcp-proxy.ts';
import { QueueFixture, RENEWING } from './fixture.ts';

const fixture = new QueueFixture();
/** Between the database and the workers of these tests. */
let proxy: TcpProxy;

beforeAll(() => fixture.start());
afterAll(() => fixture.stop());
beforeEach(() => fixture.reset());

async function distantPool() {
  const url = new URL(fixture.testDatabase.url);
  proxy = await startTcpProxy(Number(url.port));
  url.port = String(proxy.port);
  return fixture.openPool(url.href);
}

const FAULTS: [string, () => unknown, () => unknown][] = [
  ['refuses connections', () => proxy.refuse(), () => proxy.accept()],
  ['accepts connections and does not respond', () => proxy.hold(), () => proxy.release()],
  ['responds after 300 ms', () => proxy.slow(300), () => proxy.slow(0)],
  ['interrupts every connection', () => proxy.cut(), () => undefined],
];

describe.each([
  ['an ordered queue', { ordered: true }],
  ['a queue with renewed leases', { ...RENEWING, ordered: false }],
])('%s', (_name, kind) => {
  test.each(FAULTS)(
    'while the database %s no item is lost, and all are handled after it has recovered',
    async (_fault, breakDown, recover) => {
      const database = await distantPool();
      await fixture.enqueueMany(40);
      const worker = await fixture.startWorker({ ...kind, leaseMs: 4_000 }, undefined, database);
      await expect.poll(() => fixture.handled.length).toBeGreaterThan(3);
      await breakDown();
      await fixture.enqueueMany(5, undefined, 'later');
      worker.wake();
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await recover();
      const unfinished = async () => {
        // Items in flight during the fault are due when their leases have ended.
        await fixture.time.advance(1_000);
        const rows = await fixture.database.query(`SELECT 1 FROM fleet.tasks WHERE state <> 'done'`);
        return rows.length;
      };
      await expect.poll(unfinished, { interval: 200, timeout: 60_000 }).toBe(0);
      expect(new Set(fixture.handled).size).toBe(45);
      await fixture.stopWorkers();
      await proxy.close();
    },
    90_000,
  );
});

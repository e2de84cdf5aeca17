import { describe } from 'vitest';
import { WAITING_TOGETHER } from '#test/measure/bounds.ts';
import { startTcpProxy, type TcpProxy } from '#test/network/tcp-proxy.ts';
import { RENEWING, testWithQueue as test } from './fixture.ts';

const FAULTS: [string, (proxy: TcpProxy) => unknown, (proxy: TcpProxy) => unknown][] = [
  ['refuses connections', (proxy) => proxy.refuse(), (proxy) => proxy.accept()],
  ['accepts connections and does not respond', (proxy) => proxy.hold(), (proxy) => proxy.release()],
  ['responds after 300 ms', (proxy) => proxy.slow(300), (proxy) => proxy.slow(0)],
  ['interrupts every connection', (proxy) => proxy.cut(), () => undefined],
];

describe.each([
  ['an ordered queue', { ordered: true }],
  ['a queue with renewed leases', { ...RENEWING, ordered: false }],
])('%s', WAITING_TOGETHER, (_name, kind) => {
  test.for(FAULTS)(
    'while the database %s no item is lost, and all are handled after it has recovered',
    { timeout: 90_000 },
    async ([, breakDown, recover], { fixture, expect }) => {
      // Between the database and the worker.
      const url = new URL(fixture.testDatabase.url);
      const proxy = await startTcpProxy(Number(url.port));
      url.port = String(proxy.port);
      const database = fixture.openPool(url.href);
      await fixture.enqueueMany(40);
      const worker = await fixture.startWorker({ ...kind, leaseMs: 4_000 }, undefined, database);
      await expect.poll(() => fixture.handled.length).toBeGreaterThan(3);
      await breakDown(proxy);
      await fixture.enqueueMany(5, undefined, 'later');
      worker.wake();
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await recover(proxy);
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
  );
});

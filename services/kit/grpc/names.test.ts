import { promises as dns, type LookupAddress } from 'node:dns';
import { afterEach, expect, type MockInstance, test, vi } from 'vitest';
import { LONG, withinBound } from '#test/measure/bounds.ts';
import { cleanUp, cleanUps, connect, serve } from '../fixtures/sample-grpc.ts';

const NAME = 'sample.test';

afterEach(cleanUp);

/** Makes NAME resolve to the result of `addresses`, or be unknown if it is empty; only the DNS lookup is mocked. */
function mockName(addresses: () => string[]): void {
  const lookup = vi.spyOn(dns, 'lookup') as unknown as MockInstance<(name: string) => Promise<LookupAddress[]>>;
  lookup.mockImplementation(async (name) => {
    const found = name === NAME ? addresses() : [];
    if (found.length === 0) throw Object.assign(new Error(`${name} is not known`), { code: 'ENOTFOUND' });
    return found.map((address) => ({ address, family: 4 }));
  });
  cleanUps.push(() => lookup.mockRestore());
}

test('an unknown name is resolved again while a call waits for it', async () => {
  const { server } = await serve();
  const port = Number(server.address.split(':').at(-1));
  let lookups = 0;
  mockName(() => (++lookups > 2 ? ['127.0.0.1'] : []));
  const { methods } = connect(`dns:///${NAME}:${port}`, { deadlineMs: 10_000 });
  expect(await methods.say({ text: 'found' })).toEqual({ text: 'found!' });
  expect(lookups).toBe(3);
});

test('the client finds the new replicas after all were replaced within seconds, one after another', async () => {
  let { server } = await serve();
  const port = Number(server.address.split(':').at(-1));
  let address = '127.0.0.1';
  mockName(() => [address]);
  const { methods } = connect(`dns:///${NAME}:${port}`, { deadlineMs: 10_000 });
  await methods.say({ text: 'the first' });
  for (const next of ['127.0.0.2', '127.0.0.3']) {
    const { server: successor } = await serve({}, { host: next, port });
    address = next;
    await server.stop();
    // The first call after the loss of the connection may fail. By default gRPC resolves a name only twice a minute.
    await expect
      .poll(() => methods.say({ text: next }).catch(() => undefined), { timeout: 10_000 })
      .toEqual({ text: `${next}!` });
    server = successor;
  }
});

test('a third replica gets its share of calls within 30 s, and no call fails', async () => {
  // The long form of this test uses the connection age of production.
  const age = LONG ? {} : { connectionAgeMs: 1_500 };
  const replies: string[] = [];
  const replica = async (host: string, port: number) => {
    const say = async ({ text }: { text: string }) => {
      replies.push(host);
      return { text };
    };
    return (await serve({ say }, { host, port, ...age })).server;
  };
  const addresses = ['127.0.0.1'];
  const port = Number((await replica('127.0.0.1', 0)).address.split(':').at(-1));
  await replica('127.0.0.2', port);
  addresses.push('127.0.0.2');
  mockName(() => addresses);
  const { methods } = connect(`dns:///${NAME}:${port}`);
  const failed: unknown[] = [];
  const shareOfLast = async (host: string) => {
    const calls = Array.from({ length: 30 }, () => methods.say({ text: '' }).catch((error) => failed.push(error)));
    await Promise.all(calls);
    const last = replies.slice(-90);
    return last.filter((replica) => replica === host).length / last.length;
  };
  await expect.poll(() => shareOfLast('127.0.0.2')).toBeGreaterThan(0.4);
  await replica('127.0.0.3', port);
  addresses.push('127.0.0.3');
  const started = performance.now();
  await expect.poll(() => shareOfLast('127.0.0.3'), { timeout: 60_000 }).toBeGreaterThanOrEqual((2 / 3) * (1 / 3));
  withinBound('a third gRPC replica has two thirds of a fair share', performance.now() - started, 30_000);
  expect(failed).toEqual([]);
}, 90_000);

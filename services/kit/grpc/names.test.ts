import { promises as dns, type LookupAddress } from 'node:dns';
import { afterEach, expect, type MockInstance, test, vi } from 'vitest';
import { LONG, withinBound } from '#test/measure/bounds.ts';
import { cleanUp, cleanUps, connect, serve } from '../fixtures/sample-grpc.ts';

const NAME = 'sample.test';

afterEach(cleanUp);

/** Has NAME stand for what `addresses` returns, or be unknown where that is nothing: only who answers is replaced. */
function nameStandsFor(addresses: () => string[]): void {
  const lookup = vi.spyOn(dns, 'lookup') as unknown as MockInstance<(name: string) => Promise<LookupAddress[]>>;
  lookup.mockImplementation(async (name) => {
    const found = name === NAME ? addresses() : [];
    if (found.length === 0) throw Object.assign(new Error(`${name} is not known`), { code: 'ENOTFOUND' });
    return found.map((address) => ({ address, family: 4 }));
  });
  cleanUps.push(() => lookup.mockRestore());
}

test('a name that is not known at first is asked for again while a call waits for it', async () => {
  const { server } = await serve();
  const port = Number(server.address.split(':').at(-1));
  let asked = 0;
  nameStandsFor(() => (++asked > 2 ? ['127.0.0.1'] : []));
  const { methods } = connect(`dns:///${NAME}:${port}`, { deadlineMs: 10_000 });
  expect(await methods.say({ text: 'found' })).toEqual({ text: 'found!' });
  expect(asked).toBe(3);
});

test('replicas that were all replaced, one after the other within seconds, are found', async () => {
  let { server } = await serve();
  const port = Number(server.address.split(':').at(-1));
  let address = '127.0.0.1';
  nameStandsFor(() => [address]);
  const { methods } = connect(`dns:///${NAME}:${port}`, { deadlineMs: 10_000 });
  await methods.say({ text: 'the first' });
  for (const next of ['127.0.0.2', '127.0.0.3']) {
    const { server: successor } = await serve({}, { host: next, port });
    address = next;
    await server.stop();
    // The call that finds the old connection gone may fail. By itself gRPC would ask for a name twice a minute.
    await expect
      .poll(() => methods.say({ text: next }).catch(() => undefined), { timeout: 10_000 })
      .toEqual({ text: `${next}!` });
    server = successor;
  }
});

test('a third replica has its share of calls within 30 s, and no call is lost', async () => {
  // The long form proves the age that services have.
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
  nameStandsFor(() => addresses);
  const { methods } = connect(`dns:///${NAME}:${port}`);
  const failed: unknown[] = [];
  const shareOfLast = async (host: string) => {
    const calls = Array.from({ length: 30 }, () => methods.say({ text: '' }).catch((error) => failed.push(error)));
    await Promise.all(calls);
    const last = replies.slice(-90);
    return last.filter((answered) => answered === host).length / last.length;
  };
  await expect.poll(() => shareOfLast('127.0.0.2')).toBeGreaterThan(0.4);
  await replica('127.0.0.3', port);
  addresses.push('127.0.0.3');
  const started = performance.now();
  await expect.poll(() => shareOfLast('127.0.0.3'), { timeout: 60_000 }).toBeGreaterThanOrEqual((2 / 3) * (1 / 3));
  withinBound('a third gRPC replica has two thirds of a fair share', performance.now() - started, 30_000);
  expect(failed).toEqual([]);
}, 90_000);

import { type LookupAddress, promises as dns } from 'node:dns';
import { afterEach, expect, type MockInstance, test, vi } from 'vitest';
import { cleanUp, cleanUps, connect, serve } from './fixtures/sample-grpc.ts';

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

import { expect, test } from 'vitest';
import { Page } from './exposition.ts';
import { type Lookup, replicasOf } from './replicas.ts';
import { takeSamples, viewOf } from './sample.ts';

const finding =
  (...addresses: string[]): Lookup =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
const unknown: Lookup = () => Promise.reject(new Error('getaddrinfo ENOTFOUND'));
const never: Lookup = () => new Promise(() => {});

const gateway = { name: 'gateway', url: 'http://gateway-pods:9090' };

test('a host name is one process for each of its addresses, in a stable order', async () => {
  const urls = async (find: Lookup) => (await replicasOf(gateway, find)).map(({ name, url }) => `${name} ${url}`);
  const both = ['gateway http://10.0.0.5:9090', 'gateway http://10.0.0.6:9090'];
  expect(await urls(finding('10.0.0.6', '10.0.0.5'))).toEqual(both);
  expect(await urls(finding('10.0.0.5', '10.0.0.6'))).toEqual(both);
  expect(await urls(finding('fd00::6'))).toEqual(['gateway http://[fd00::6]:9090']);
  expect(await urls(finding('10.0.0.5', 'fd00::5'))).toEqual(['gateway http://10.0.0.5:9090']);
});

test.each(['http://10.0.0.5:9090', 'http://[::1]:9090', 'http://localhost:9090'])(
  '%s is one process, and is not looked up in DNS',
  async (url) => {
    expect(await replicasOf({ name: 'auth', url }, unknown)).toEqual([{ name: 'auth', url }]);
  },
);

test.each([
  ['is unknown', unknown],
  ['has no address', finding()],
  ['gets no response from DNS', never],
])('a host name that %s is shown as down', async (_, find) => {
  const samples = await takeSamples([gateway], { now: Date.now, tokenFor: () => undefined, find });
  expect(viewOf(samples, samples, 0).processes).toEqual([
    { name: 'gateway', address: gateway.url, figures: null, reason: 'its name has no address' },
  ]);
});

test('a replica is compared with itself, even if other replicas start and stop', () => {
  const sample = (address: string, requests: number, at: number) => ({
    process: { name: 'gateway', url: `http://${address}:9090` },
    page: new Page(`http_requests_total{code="200"} ${requests}`, at),
    keys: [],
  });
  const before = [sample('10.0.0.5', 100, 0), sample('10.0.0.6', 1_000, 0)];
  const after = [sample('10.0.0.6', 1_020, 2_000), sample('10.0.0.7', 50, 2_000)];
  const rows = viewOf(before, after, 0).processes;
  expect(rows.map(({ figures, reason }) => figures?.requests_per_second ?? reason)).toEqual([10, 'no figures yet']);
});

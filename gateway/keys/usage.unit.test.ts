import { expect, test } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import { newKey, silentLog, startPeer } from './fixtures/auth-peer.ts';
import { KeyUsage } from './usage.ts';

async function setUp(max = 2_000) {
  const { peer, clock, client } = await startPeer();
  const usage = new KeyUsage({ client, clock, log: silentLog, max });
  const use = (id: number) => usage.record(peer.grant(newKey(), { keyId: `${id}` }));
  const reported = () => peer.uses.flat().map(({ keyId }) => Number(keyId));
  return { peer, clock, usage, use, reported };
}

test('key usage is reported at most once a minute per key', async () => {
  const { peer, clock, usage, use, reported } = await setUp();
  use(1);
  use(1);
  await usage.send();
  expect(peer.uses).toEqual([[expect.objectContaining({ keyId: '1', usedAt: unixSeconds(clock.now()) })]]);
  clock.advance(59_999);
  use(1);
  await usage.send();
  expect(reported()).toEqual([1]);
  clock.advance(1);
  use(1);
  use(2);
  await usage.send();
  expect(reported()).toEqual([1, 1, 2]);
});

test('usage is reported in batches of 500, and nothing is sent without usage', async () => {
  const { peer, usage, use } = await setUp();
  await usage.send();
  for (let id = 0; id < 1_100; id++) use(id);
  await usage.send();
  expect(peer.uses.map(({ length }) => length)).toEqual([500, 500, 100]);
});

test('at most max keys are recorded within a minute', async () => {
  const { clock, usage, use, reported } = await setUp(2);
  for (const id of [1, 2, 3]) use(id);
  await usage.send();
  expect(reported()).toEqual([1, 2]);
  clock.advance(60_000);
  await usage.send();
  use(3);
  await usage.send();
  expect(reported()).toEqual([1, 2, 3]);
});

test('usage that auth failed to record is reported again later, once per key', async () => {
  const { peer, clock, usage, use, reported } = await setUp();
  peer.isFailing = true;
  use(1);
  await usage.send();
  clock.advance(60_000);
  use(1);
  use(2);
  await usage.send();
  peer.isFailing = false;
  await usage.send();
  await usage.send();
  expect(reported()).toEqual([1, 2]);
  expect(peer.uses.flat()[0]?.usedAt).toBe(Math.floor(clock.now() / 1000));
});

test('usage is reported periodically, on drain and on stop', async () => {
  const { usage, use, reported } = await setUp();
  await usage.start();
  use(1);
  await expect.poll(reported).toEqual([1]);
  use(2);
  await usage.drain();
  expect(reported()).toEqual([1, 2]);
  use(3);
  await usage.stop();
  expect(reported()).toEqual([1, 2, 3]);
});

import { expect, test } from 'vitest';
import { newKey } from './fixtures/auth-peer.ts';
import { startKeys } from './fixtures/keys.ts';

test('a key that is used is verified again in the last quarter of its time, with others, and nobody waits', async () => {
  const { peer, keys, beat, beatFor, asked } = await startKeys();
  const [used, other, unused] = [newKey(), newKey(), newKey()];
  for (const key of [used, other, unused]) peer.grant(key);
  beat();
  await Promise.all([used, other, unused].map((key) => keys.find(key)));
  beatFor(44);
  for (const key of [used, other]) expect(keys.peek(key)).toBeDefined();
  await keys.renew();
  expect(asked()).toBe(3);
  beatFor(1);
  for (const key of [used, used, other]) expect(keys.peek(key)).toBeDefined();
  await keys.renew();
  await keys.renew();
  expect(peer.messages.map((message) => message.length)).toEqual([3, 2]);
  beatFor(44);
  expect([used, other, unused].map((key) => keys.peek(key) !== undefined)).toEqual([true, true, false]);
});

test('a key that is gone when it is verified again is refused from then on', async () => {
  const { peer, keys, beat, beatFor } = await startKeys();
  const key = newKey();
  peer.grant(key);
  beat();
  await keys.find(key);
  beatFor(50);
  expect(keys.peek(key)).toBeDefined();
  peer.revoke(key);
  await keys.renew();
  expect(keys.peek(key)).toBeUndefined();
  expect(await keys.find(key)).toBeUndefined();
});

test('an auth that fails is not asked to renew keys, and is asked again when it is back', async () => {
  const { peer, clock, keys, beat, beatFor, asked } = await startKeys();
  const key = newKey();
  peer.grant(key);
  beat();
  await keys.find(key);
  beatFor(50);
  peer.isFailing = true;
  expect(keys.peek(key)).toBeDefined();
  await keys.renew();
  expect(keys.peek(key)).toBeDefined();
  const before = asked();
  await keys.renew();
  expect(asked()).toBe(before);
  peer.isFailing = false;
  clock.advance(2_500);
  beat();
  await keys.renew();
  expect(asked()).toBe(before + 1);
  beatFor(20);
  expect(keys.peek(key)).toBeDefined();
});

test('one round renews 500 keys at most, the next those that are left', async () => {
  const { peer, keys, beat, beatFor, asked } = await startKeys({ max: 1_000 });
  const all = Array.from({ length: 600 }, newKey);
  for (const key of all) peer.grant(key);
  beat();
  await Promise.all(all.map((key) => keys.find(key)));
  beatFor(50);
  for (const key of all) expect(keys.peek(key)).toBeDefined();
  await keys.renew();
  expect(asked()).toBe(1_100);
  await keys.renew();
  expect(asked()).toBe(1_200);
});

import { expect, test } from 'vitest';
import { changeOf, newKey } from './fixtures/auth-peer.ts';
import { startKeys } from './fixtures/keys.ts';

test('a key that was used is verified again when a quarter of its time is left, with others, and nobody waits', async () => {
  const { peer, keys, beat, beatFor, asked } = await startKeys();
  const [used, other, unused] = [newKey(), newKey(), newKey()];
  for (const key of [used, other, unused]) peer.grant(key);
  beat();
  await Promise.all([used, other, unused].map((key) => keys.find(key)));
  for (const key of [used, used, other]) expect(keys.peek(key)).toBeDefined();
  beatFor(44);
  await keys.renew();
  expect(asked()).toBe(3);
  beatFor(1);
  await keys.renew();
  await keys.renew();
  expect(peer.messages.map((message) => message.length)).toEqual([3, 2]);
  beatFor(44);
  expect([used, other, unused].map((key) => keys.peek(key) !== undefined)).toEqual([true, true, false]);
});

test('a key that is gone when it is verified again is refused from then on', async () => {
  const { peer, keys, dueKey } = await startKeys();
  const key = await dueKey();
  peer.revoke(key);
  await keys.renew();
  expect(keys.peek(key)).toBeUndefined();
  expect(await keys.find(key)).toBeUndefined();
});

test('a key that was used in the time before last alone is verified when it is used', async () => {
  const { keys, beatFor, asked, dueKey } = await startKeys();
  const key = await dueKey();
  await keys.renew();
  beatFor(50);
  await keys.renew();
  expect(asked()).toBe(2);
  beatFor(20);
  expect(keys.peek(key)).toBeUndefined();
});

test('a key that is first used in the last quarter of its time is verified again at the next beat', async () => {
  const { peer, keys, beat, beatFor, asked } = await startKeys();
  const key = newKey();
  peer.grant(key);
  beat();
  await keys.find(key);
  beatFor(50);
  await keys.renew();
  expect(asked()).toBe(1);
  expect(keys.peek(key)).toBeDefined();
  await keys.renew();
  expect(asked()).toBe(2);
  beatFor(40);
  expect(keys.peek(key)).toBeDefined();
});

test('a key that was verified without a stream is verified when it is used, and at no beat', async () => {
  const { peer, keys, beatFor, asked } = await startKeys();
  const key = newKey();
  peer.grant(key);
  await keys.find(key);
  expect(keys.peek(key)).toBeDefined();
  beatFor(50);
  await keys.renew();
  expect(asked()).toBe(1);
  await keys.find(key);
  expect(asked()).toBe(2);
});

test('an auth that fails is not asked to renew keys, and is asked again when it is back', async () => {
  const { peer, clock, keys, beat, beatFor, asked, dueKey } = await startKeys();
  const key = await dueKey();
  peer.isFailing = true;
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

test('many are renewed 32 at a time, so that a caller with a new key does not wait for them', async () => {
  const { peer, keys, beat, beatFor, renewals } = await startKeys({ max: 1_000 });
  const [all, caller] = [Array.from({ length: 300 }, newKey), newKey()];
  for (const key of [...all, caller]) peer.grant(key);
  beat();
  await Promise.all(all.map((key) => keys.find(key)));
  for (const key of all) expect(keys.peek(key)).toBeDefined();
  beatFor(50);
  const before = peer.messages.length;
  peer.hold();
  const renewed = keys.renew();
  await expect.poll(() => peer.messages.length).toBe(before + 1);
  const found = keys.find(caller);
  await expect.poll(() => peer.messages.length).toBe(before + 2);
  expect(peer.messages.slice(before).map(({ length }) => length)).toEqual([32, 1]);
  peer.release();
  expect(await found).toBeDefined();
  await renewed;
  expect(peer.messages.slice(before).flat()).toHaveLength(301);
  expect(await renewals()).toBe(300);
});

test('a key that is used while it is renewed is not asked for once more', async () => {
  const { peer, keys, asked, dueKey } = await startKeys();
  const key = await dueKey();
  peer.hold();
  const renewed = keys.renew();
  await expect.poll(asked).toBe(2);
  expect(keys.peek(key)).toBeDefined();
  peer.release();
  await renewed;
  await keys.renew();
  expect(asked()).toBe(2);
});

test('a key that changes while it is renewed is verified once more before it is used', async () => {
  const { peer, clock, keys, asked, dueKey } = await startKeys();
  const key = await dueKey();
  peer.hold();
  const renewed = keys.renew();
  await expect.poll(asked).toBe(2);
  peer.revoke(key);
  keys.changed(changeOf(key, 2, clock));
  peer.release();
  await renewed;
  expect(keys.peek(key)).toBeUndefined();
  expect(await keys.find(key)).toBeUndefined();
});

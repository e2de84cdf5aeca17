import { expect, test } from 'vitest';
import { changeOf, newKey } from './fixtures/auth-peer.ts';
import { startKeys } from './fixtures/keys.ts';

test('used keys are renewed together when a quarter of their fresh time is left, and unused keys are not', async () => {
  const { peer, keys, beat, beatFor, requested } = await startKeys();
  const [used, other, unused] = [newKey(), newKey(), newKey()];
  for (const key of [used, other, unused]) peer.grant(key);
  beat();
  await Promise.all([used, other, unused].map((key) => keys.find(key)));
  for (const key of [used, used, other]) expect(keys.peek(key)).toBeDefined();
  beatFor(44);
  await keys.renewDueKeys();
  expect(requested()).toBe(3);
  beatFor(1);
  await keys.renewDueKeys();
  await keys.renewDueKeys();
  expect(peer.messages.map((message) => message.length)).toEqual([3, 2]);
  beatFor(44);
  expect([used, other, unused].map((key) => keys.peek(key) !== undefined)).toEqual([true, true, false]);
});

test('a key that was revoked is rejected after its renewal', async () => {
  const { peer, keys, dueKey } = await startKeys();
  const key = await dueKey();
  peer.revoke(key);
  await keys.renewDueKeys();
  expect(keys.peek(key)).toBeUndefined();
  expect(await keys.find(key)).toBeUndefined();
});

test('a key that was not used since its last verification is not renewed', async () => {
  const { keys, beatFor, requested, dueKey } = await startKeys();
  const key = await dueKey();
  await keys.renewDueKeys();
  beatFor(50);
  await keys.renewDueKeys();
  expect(requested()).toBe(2);
  beatFor(20);
  expect(keys.peek(key)).toBeUndefined();
});

test('a key that is first used in the last quarter of its fresh time is renewed at the next beat', async () => {
  const { peer, keys, beat, beatFor, requested } = await startKeys();
  const key = newKey();
  peer.grant(key);
  beat();
  await keys.find(key);
  beatFor(50);
  await keys.renewDueKeys();
  expect(requested()).toBe(1);
  expect(keys.peek(key)).toBeDefined();
  await keys.renewDueKeys();
  expect(requested()).toBe(2);
  beatFor(40);
  expect(keys.peek(key)).toBeDefined();
});

test('a key that was verified without a stream is not renewed by beats', async () => {
  const { peer, keys, beatFor, requested } = await startKeys();
  const key = newKey();
  peer.grant(key);
  await keys.find(key);
  expect(keys.peek(key)).toBeDefined();
  beatFor(50);
  await keys.renewDueKeys();
  expect(requested()).toBe(1);
  await keys.find(key);
  expect(requested()).toBe(2);
});

test('keys are not renewed while auth is failing, and are renewed once it is back', async () => {
  const { peer, clock, keys, beat, beatFor, requested, dueKey } = await startKeys();
  const key = await dueKey();
  peer.isFailing = true;
  await keys.renewDueKeys();
  expect(keys.peek(key)).toBeDefined();
  const before = requested();
  await keys.renewDueKeys();
  expect(requested()).toBe(before);
  peer.isFailing = false;
  clock.advance(2_500);
  beat();
  await keys.renewDueKeys();
  expect(requested()).toBe(before + 1);
  beatFor(20);
  expect(keys.peek(key)).toBeDefined();
});

test('at most 32 keys are renewed at a time, so that a request with a new key does not wait for them', async () => {
  const { peer, keys, beat, beatFor, renewals } = await startKeys({ max: 1_000 });
  const [all, added] = [Array.from({ length: 300 }, newKey), newKey()];
  for (const key of [...all, added]) peer.grant(key);
  beat();
  await Promise.all(all.map((key) => keys.find(key)));
  for (const key of all) expect(keys.peek(key)).toBeDefined();
  beatFor(50);
  const before = peer.messages.length;
  peer.hold();
  const renewed = keys.renewDueKeys();
  await expect.poll(() => peer.messages.length).toBe(before + 1);
  const found = keys.find(added);
  await expect.poll(() => peer.messages.length).toBe(before + 2);
  expect(peer.messages.slice(before).map(({ length }) => length)).toEqual([32, 1]);
  peer.release();
  expect(await found).toBeDefined();
  await renewed;
  expect(peer.messages.slice(before).flat()).toHaveLength(301);
  expect(await renewals()).toBe(300);
});

test('a key that is used during its renewal is not renewed twice', async () => {
  const { peer, keys, requested, dueKey } = await startKeys();
  const key = await dueKey();
  peer.hold();
  const renewed = keys.renewDueKeys();
  await expect.poll(requested).toBe(2);
  expect(keys.peek(key)).toBeDefined();
  peer.release();
  await renewed;
  await keys.renewDueKeys();
  expect(requested()).toBe(2);
});

test('a key that changes during its renewal is verified again before it is used', async () => {
  const { peer, clock, keys, requested, dueKey } = await startKeys();
  const key = await dueKey();
  peer.hold();
  const renewed = keys.renewDueKeys();
  await expect.poll(requested).toBe(2);
  peer.revoke(key);
  keys.handleChange(changeOf(key, 2, clock));
  peer.release();
  await renewed;
  expect(keys.peek(key)).toBeUndefined();
  expect(await keys.find(key)).toBeUndefined();
});

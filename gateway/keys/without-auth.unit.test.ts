import { expect, test } from 'vitest';
import { changeOf, newKey } from './fixtures/auth-peer.ts';
import { startKeys } from './fixtures/keys.ts';

test('without auth a cached key is accepted for 60 s after the last heartbeat that covered it', async () => {
  const { peer, clock, keys, beat, beatFor, outcomes } = await startKeys();
  const key = newKey();
  const grant = peer.grant(key);
  beat();
  await keys.find(key);
  beatFor(30);
  peer.isFailing = true;
  clock.advance(59_999);
  expect(await keys.find(key)).toEqual(grant);
  expect(await outcomes('stale')).toBe(1);
  clock.advance(1);
  await expect(keys.find(key)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
  expect(await outcomes('unavailable')).toBe(1);
  expect(keys.isKnown(key)).toBe(true);
});

test('without a stream the 60 s start at the verification of the key', async () => {
  const { peer, clock, keys } = await startKeys();
  const key = newKey();
  peer.grant(key);
  await keys.find(key);
  peer.isFailing = true;
  clock.advance(59_999);
  expect(await keys.find(key)).toBeDefined();
  clock.advance(1);
  await expect(keys.find(key)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('while auth is failing, cached keys are accepted without a lookup; when it is back they are verified', async () => {
  const { peer, clock, keys, beat, requested } = await startKeys();
  const key = newKey();
  peer.grant(key);
  beat();
  await keys.find(key);
  peer.isFailing = true;
  clock.advance(10_000);
  expect(keys.peek(key)).toBeUndefined();
  await keys.find(key);
  expect(keys.peek(key)).toBeDefined();
  peer.isFailing = false;
  clock.advance(1_000);
  peer.grant(key, { version: 2 });
  await expect.poll(() => keys.peek(key)).toBeUndefined();
  expect(requested()).toBe(2);
  expect(await keys.find(key)).toMatchObject({ version: 2 });
});

test('auth is probed when the stream ends, before a request has to wait for it', async () => {
  const { peer, clock, keys, beat } = await startKeys();
  const key = newKey();
  peer.grant(key);
  beat();
  await keys.find(key);
  peer.isFailing = true;
  clock.advance(10_000);
  expect(keys.peek(key)).toBeUndefined();
  keys.handleDisconnect();
  await expect.poll(() => keys.peek(key)).toBeDefined();
});

test('an old failure of auth does not make an expired cache entry valid', async () => {
  const { peer, clock, keys } = await startKeys();
  const key = newKey();
  peer.grant(key);
  await keys.find(key);
  peer.isFailing = true;
  clock.advance(10_000);
  await keys.find(key);
  peer.isFailing = false;
  peer.revoke(key);
  clock.advance(10_000);
  expect(keys.peek(key)).toBeUndefined();
  expect(await keys.find(key)).toBeUndefined();
});

test('without auth a changed key is not accepted', async () => {
  const { peer, clock, keys, beat } = await startKeys();
  const key = newKey();
  peer.grant(key);
  beat();
  await keys.find(key);
  peer.isFailing = true;
  keys.handleChange(changeOf(key, 2, clock));
  await expect(keys.find(key)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(keys.find(key)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('without auth an unknown key is UNAVAILABLE and not rejected as invalid', async () => {
  const { peer, keys } = await startKeys();
  peer.isFailing = true;
  await expect(keys.find(newKey())).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
});

test('while the stream is alive, a key that it does not cover is not accepted without auth', async () => {
  const { peer, clock, keys, beat } = await startKeys();
  const key = newKey();
  peer.grant(key);
  await keys.find(key);
  clock.advance(10_000);
  beat();
  peer.isFailing = true;
  await expect(keys.find(key)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('after the stream has ended, a key that it did not cover is accepted without auth', async () => {
  const { peer, clock, keys, beat } = await startKeys();
  const key = newKey();
  peer.grant(key);
  await keys.find(key);
  clock.advance(10_000);
  beat();
  peer.isFailing = true;
  keys.handleDisconnect();
  expect(await keys.find(key)).toBeDefined();
});

test('with AUTH_STALE_SECONDS = 0 only fresh keys are accepted', async () => {
  const { peer, clock, keys, beat, beatFor } = await startKeys({ staleSeconds: 0 });
  const key = newKey();
  peer.grant(key);
  beat();
  await keys.find(key);
  peer.isFailing = true;
  beatFor(59);
  expect(await keys.find(key)).toBeDefined();
  beatFor(1);
  await expect(keys.find(key)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  clock.advance(10_000);
  await expect(keys.find(key)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

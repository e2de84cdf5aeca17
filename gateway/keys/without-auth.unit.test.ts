import { expect, test } from 'vitest';
import { changeOf, newKey } from './fixtures/auth-peer.ts';
import { startKeys } from './fixtures/keys.ts';

test('without auth a known key is served for 60 s since it was last confirmed, and not longer', async () => {
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

test('without a stream the 60 s run from when the key was verified', async () => {
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

test('once auth has failed, known keys wait for it no more; when it answers again they are verified', async () => {
  const { peer, clock, keys, beat, asked } = await startKeys();
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
  expect(asked()).toBe(2);
  expect(await keys.find(key)).toMatchObject({ version: 2 });
});

test('when the stream is cut, auth is probed before a request has to find out', async () => {
  const { peer, clock, keys, beat } = await startKeys();
  const key = newKey();
  peer.grant(key);
  beat();
  await keys.find(key);
  peer.isFailing = true;
  clock.advance(10_000);
  expect(keys.peek(key)).toBeUndefined();
  keys.cut();
  await expect.poll(() => keys.peek(key)).toBeDefined();
});

test('a failure of long ago is no reason to serve a key that may have been revoked since', async () => {
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

test('without auth a key that has changed is not served', async () => {
  const { peer, clock, keys, beat } = await startKeys();
  const key = newKey();
  peer.grant(key);
  beat();
  await keys.find(key);
  peer.isFailing = true;
  keys.changed(changeOf(key, 2, clock));
  await expect(keys.find(key)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(keys.find(key)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('without auth an unknown key is UNAVAILABLE, never refused', async () => {
  const { peer, keys } = await startKeys();
  peer.isFailing = true;
  await expect(keys.find(newKey())).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
});

test('while the stream is alive, a key that it can not vouch for is not served without auth', async () => {
  const { peer, clock, keys, beat } = await startKeys();
  const key = newKey();
  peer.grant(key);
  await keys.find(key);
  clock.advance(10_000);
  beat();
  peer.isFailing = true;
  await expect(keys.find(key)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('once the stream is cut, also a key that it could not vouch for is served without auth', async () => {
  const { peer, clock, keys, beat } = await startKeys();
  const key = newKey();
  peer.grant(key);
  await keys.find(key);
  clock.advance(10_000);
  beat();
  peer.isFailing = true;
  keys.cut();
  expect(await keys.find(key)).toBeDefined();
});

test('AUTH_STALE_SECONDS = 0 serves nothing that is not fresh', async () => {
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

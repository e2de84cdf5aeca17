import { expect, test } from 'vitest';
import { changeOf, newKey } from './fixtures/auth-peer.ts';
import { startKeys } from './fixtures/keys.ts';

test('a key is fresh for 60 s while the stream is alive, and no lookup is sent', async () => {
  const { peer, clock, keys, beat, beatFor, requested, outcomes } = await startKeys();
  const key = newKey();
  const grant = peer.grant(key);
  beat();
  expect(keys.peek(key)).toBeUndefined();
  expect(await keys.find(key)).toEqual(grant);
  beatFor(59);
  clock.advance(999);
  expect(keys.peek(key)).toEqual(grant);
  expect(await keys.find(key)).toEqual(grant);
  expect(requested()).toBe(1);
  clock.advance(1);
  expect(keys.peek(key)).toBeUndefined();
  expect(await keys.find(key)).toEqual(grant);
  expect(requested()).toBe(2);
  expect(await outcomes('hit')).toBe(2);
  expect(await outcomes('miss')).toBe(2);
});

test.each([
  [0, 48_000, 3_200],
  [0.999_999, 71_999, 4_799],
])(
  'with the random value %d a key is fresh for %d ms with a stream and %d ms without',
  async (value, proven, unproven) => {
    const { peer, clock, keys, beat, beatFor } = await startKeys({ random: () => value });
    const key = newKey();
    peer.grant(key);
    await keys.find(key);
    clock.advance(unproven - 1);
    expect(keys.peek(key)).toBeDefined();
    clock.advance(2);
    expect(keys.peek(key)).toBeUndefined();
    beat();
    await keys.find(key);
    const seconds = Math.floor((proven - 1) / 1_000);
    beatFor(seconds);
    clock.advance(proven - 1 - seconds * 1_000);
    expect(keys.peek(key)).toBeDefined();
    clock.advance(2);
    expect(keys.peek(key)).toBeUndefined();
  },
);

test('a key verified before the first heartbeat is fresh only for the time without a stream', async () => {
  const { peer, keys, beatFor } = await startKeys();
  const key = newKey();
  peer.grant(key);
  await keys.find(key);
  beatFor(3);
  expect(keys.peek(key)).toBeDefined();
  beatFor(1);
  expect(keys.peek(key)).toBeUndefined();
});

test('keys are not fresh after 2.5 s without a heartbeat; a heartbeat within 10 s makes them fresh again, a later one does not', async () => {
  const { peer, clock, keys, beat } = await startKeys();
  const key = newKey();
  peer.grant(key);
  beat();
  await keys.find(key);
  clock.advance(8_000);
  expect(keys.peek(key)).toBeUndefined();
  beat();
  expect(keys.peek(key)).toBeDefined();
  clock.advance(10_000);
  beat();
  expect(keys.peek(key)).toBeUndefined();
});

test('an unknown key is rejected, and that is cached for five seconds', async () => {
  const { clock, keys, requested, outcomes } = await startKeys();
  const key = newKey();
  expect(await keys.find(key)).toBeUndefined();
  clock.advance(4_999);
  expect(await keys.find(key)).toBeUndefined();
  expect(requested()).toBe(1);
  expect(await outcomes('rejection_hit')).toBe(1);
  clock.advance(1);
  expect(await keys.find(key)).toBeUndefined();
  expect(requested()).toBe(2);
});

test('invalid keys do not evict valid ones', async () => {
  const { peer, keys, beat, requested } = await startKeys({ max: 1 });
  const key = newKey();
  peer.grant(key);
  beat();
  await keys.find(key);
  await Promise.all(Array.from({ length: 50 }, () => keys.find(newKey())));
  expect(keys.peek(key)).toBeDefined();
  expect(requested()).toBe(51);
});

test('after a change every secret of the key is verified again immediately', async () => {
  const { peer, clock, keys, beat } = await startKeys();
  const [old, current] = [newKey(), newKey()];
  peer.grant(old, { version: 1 });
  peer.grant(current, { version: 1 });
  beat();
  await Promise.all([keys.find(old), keys.find(current)]);
  peer.revoke(old);
  peer.grant(current, { version: 2, scopes: [] });
  keys.handleChange(changeOf(old, 2, clock, [current]));
  expect([keys.peek(old), keys.peek(current)]).toEqual([undefined, undefined]);
  expect(await keys.find(old)).toBeUndefined();
  expect(await keys.find(current)).toMatchObject({ version: 2, scopes: [] });
});

test('a change that the cached grant already includes has no effect', async () => {
  const { peer, clock, keys, beat } = await startKeys();
  const key = newKey();
  peer.grant(key, { version: 5 });
  beat();
  await keys.find(key);
  keys.handleChange(changeOf(key, 5, clock));
  keys.handleChange(changeOf(key, 4, clock));
  expect(keys.peek(key)).toBeDefined();
});

test('a result from before a change is neither used nor cached, and the key is looked up again', async () => {
  const { peer, clock, keys, beat, requested } = await startKeys();
  const key = newKey();
  peer.grant(key, { version: 1 });
  beat();
  peer.hold();
  const found = keys.find(key);
  await expect.poll(requested).toBe(1);
  peer.revoke(key);
  keys.handleChange(changeOf(key, 2, clock));
  peer.release();
  expect(await found).toBeUndefined();
  expect(requested()).toBe(2);
  expect(keys.isKnown(key)).toBe(false);
});

test('a result that includes the change received during the lookup is cached', async () => {
  const { peer, clock, keys, beat, requested } = await startKeys();
  const key = newKey();
  const grant = peer.grant(key, { version: 2 });
  beat();
  peer.hold();
  const found = keys.find(key);
  await expect.poll(requested).toBe(1);
  keys.handleChange(changeOf(key, 2, clock));
  peer.release();
  expect(await found).toEqual(grant);
  expect(keys.peek(key)).toEqual(grant);
});

test('a rejection is not cached if the key changed during the lookup', async () => {
  const { peer, clock, keys, requested } = await startKeys();
  const key = newKey();
  peer.hold();
  const found = keys.find(key);
  await expect.poll(requested).toBe(1);
  peer.grant(key, { version: 1 });
  keys.handleChange(changeOf(key, 1, clock));
  peer.release();
  expect(await found).toBeUndefined();
  expect(await keys.find(key)).toMatchObject({ version: 1 });
});

test('a change removes a cached rejection', async () => {
  const { peer, clock, keys } = await startKeys();
  const key = newKey();
  expect(await keys.find(key)).toBeUndefined();
  peer.grant(key);
  keys.handleChange(changeOf(key, 1, clock));
  expect(await keys.find(key)).toBeDefined();
});

test('a lookup fails if auth keeps returning a version older than the received change', async () => {
  const { peer, clock, keys, beat, requested } = await startKeys();
  const key = newKey();
  peer.grant(key, { version: 1 });
  beat();
  await keys.find(key);
  keys.handleChange(changeOf(key, 2, clock));
  await expect(keys.find(key)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(requested()).toBe(4);
});

test('a replaced secret is rejected from the end of its grace period, even without auth', async () => {
  const { peer, clock, keys, beat } = await startKeys();
  const key = newKey();
  peer.grant(key, { validUntil: clock.now() / 1000 + 2 });
  beat();
  expect(await keys.find(key)).toBeDefined();
  clock.advance(1_999);
  expect(keys.peek(key)).toBeDefined();
  peer.isFailing = true;
  clock.advance(1);
  expect(keys.peek(key)).toBeUndefined();
  expect(await keys.find(key)).toBeUndefined();
  expect(keys.isKnown(key)).toBe(false);
});

test('a key is known for 24 h after its verification, even after a change, but not after a rejection', async () => {
  const { peer, clock, keys } = await startKeys();
  const [key, revoked] = [newKey(), newKey()];
  peer.grant(key);
  peer.grant(revoked);
  expect(keys.isKnown(key)).toBe(false);
  await Promise.all([keys.find(key), keys.find(revoked)]);
  keys.handleChange(changeOf(key, 2, clock, [revoked]));
  expect([key, revoked].map((each) => keys.isKnown(each))).toEqual([true, true]);
  peer.revoke(revoked);
  await keys.find(revoked);
  expect(keys.isKnown(revoked)).toBe(false);
  clock.advance(24 * 3_600_000 - 1);
  expect(keys.isKnown(key)).toBe(true);
  clock.advance(1);
  expect(keys.isKnown(key)).toBe(false);
});

test('the rejection of a revoked key is cached', async () => {
  const { peer, clock, keys, beat, requested } = await startKeys();
  const key = newKey();
  peer.grant(key);
  beat();
  await keys.find(key);
  peer.revoke(key);
  keys.handleChange(changeOf(key, 2, clock));
  expect(await keys.find(key)).toBeUndefined();
  expect(await keys.find(key)).toBeUndefined();
  expect(requested()).toBe(2);
});

test('keys are not fresh after the clock was set back', async () => {
  const { peer, clock, keys, beat } = await startKeys();
  const key = newKey();
  peer.grant(key);
  beat();
  await keys.find(key);
  clock.advance(-3_600_000);
  expect(keys.peek(key)).toBeUndefined();
});

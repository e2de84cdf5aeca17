import { expect, test } from 'vitest';
import { changeOf, newKey } from './fixtures/auth-peer.ts';
import { startKeys } from './fixtures/keys.ts';

test('a key is fresh for 60 s while every change would be heard, and auth is not asked', async () => {
  const { peer, clock, keys, beat, beatFor, asked, outcomes } = await startKeys();
  const key = newKey();
  const grant = peer.grant(key);
  beat();
  expect(keys.peek(key)).toBeUndefined();
  expect(await keys.find(key)).toEqual(grant);
  beatFor(59);
  clock.advance(999);
  expect(keys.peek(key)).toEqual(grant);
  expect(await keys.find(key)).toEqual(grant);
  expect(asked()).toBe(1);
  clock.advance(1);
  expect(keys.peek(key)).toBeUndefined();
  expect(await keys.find(key)).toEqual(grant);
  expect(asked()).toBe(2);
  expect(await outcomes('hit')).toBe(2);
  expect(await outcomes('miss')).toBe(2);
});

test.each([
  [0, 48_000, 3_200],
  [0.999_999, 71_999, 4_799],
])('with chance %d a key is fresh for %d ms with the stream and %d ms without', async (chance, proven, unproven) => {
  const { peer, clock, keys, beat, beatFor } = await startKeys({ random: () => chance });
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
});

test('a key verified before the stream was proven stays fresh for the short time only', async () => {
  const { peer, keys, beatFor } = await startKeys();
  const key = newKey();
  peer.grant(key);
  await keys.find(key);
  beatFor(3);
  expect(keys.peek(key)).toBeDefined();
  beatFor(1);
  expect(keys.peek(key)).toBeUndefined();
});

test('a stream that falls silent takes freshness away after 2.5 s; back within 10 s it gives it again, later not', async () => {
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

test('an unknown key is refused, and remembered as refused for five seconds', async () => {
  const { clock, keys, asked, outcomes } = await startKeys();
  const key = newKey();
  expect(await keys.find(key)).toBeUndefined();
  clock.advance(4_999);
  expect(await keys.find(key)).toBeUndefined();
  expect(asked()).toBe(1);
  expect(await outcomes('refusal_hit')).toBe(1);
  clock.advance(1);
  expect(await keys.find(key)).toBeUndefined();
  expect(asked()).toBe(2);
});

test('junk pushes out no good key', async () => {
  const { peer, keys, beat, asked } = await startKeys({ max: 1 });
  const key = newKey();
  peer.grant(key);
  beat();
  await keys.find(key);
  await Promise.all(Array.from({ length: 50 }, () => keys.find(newKey())));
  expect(keys.peek(key)).toBeDefined();
  expect(asked()).toBe(51);
});

test('a change makes every secret of the key be verified again, at once', async () => {
  const { peer, clock, keys, beat } = await startKeys();
  const [old, current] = [newKey(), newKey()];
  peer.grant(old, { version: 1 });
  peer.grant(current, { version: 1 });
  beat();
  await Promise.all([keys.find(old), keys.find(current)]);
  peer.revoke(old);
  peer.grant(current, { version: 2, scopes: [] });
  keys.changed(changeOf(old, 2, clock, [current]));
  expect([keys.peek(old), keys.peek(current)]).toEqual([undefined, undefined]);
  expect(await keys.find(old)).toBeUndefined();
  expect(await keys.find(current)).toMatchObject({ version: 2, scopes: [] });
});

test('a change that was already seen, or is told again, costs nothing', async () => {
  const { peer, clock, keys, beat } = await startKeys();
  const key = newKey();
  peer.grant(key, { version: 5 });
  beat();
  await keys.find(key);
  keys.changed(changeOf(key, 5, clock));
  keys.changed(changeOf(key, 4, clock));
  expect(keys.peek(key)).toBeDefined();
});

test('what auth answered before a change is neither used nor kept: it is asked again', async () => {
  const { peer, clock, keys, beat, asked } = await startKeys();
  const key = newKey();
  peer.grant(key, { version: 1 });
  beat();
  peer.hold();
  const found = keys.find(key);
  await expect.poll(asked).toBe(1);
  peer.revoke(key);
  keys.changed(changeOf(key, 2, clock));
  peer.release();
  expect(await found).toBeUndefined();
  expect(asked()).toBe(2);
  expect(keys.isKnown(key)).toBe(false);
});

test('an answer as new as the change that came meanwhile is kept', async () => {
  const { peer, clock, keys, beat, asked } = await startKeys();
  const key = newKey();
  const grant = peer.grant(key, { version: 2 });
  beat();
  peer.hold();
  const found = keys.find(key);
  await expect.poll(asked).toBe(1);
  keys.changed(changeOf(key, 2, clock));
  peer.release();
  expect(await found).toEqual(grant);
  expect(keys.peek(key)).toEqual(grant);
});

test('a refusal that a change came upon is not remembered', async () => {
  const { peer, clock, keys, asked } = await startKeys();
  const key = newKey();
  peer.hold();
  const found = keys.find(key);
  await expect.poll(asked).toBe(1);
  peer.grant(key, { version: 1 });
  keys.changed(changeOf(key, 1, clock));
  peer.release();
  expect(await found).toBeUndefined();
  expect(await keys.find(key)).toMatchObject({ version: 1 });
});

test('a change drops a remembered refusal', async () => {
  const { peer, clock, keys } = await startKeys();
  const key = newKey();
  expect(await keys.find(key)).toBeUndefined();
  peer.grant(key);
  keys.changed(changeOf(key, 1, clock));
  expect(await keys.find(key)).toBeDefined();
});

test('an auth that keeps answering with an older version than a change is not believed', async () => {
  const { peer, clock, keys, beat, asked } = await startKeys();
  const key = newKey();
  peer.grant(key, { version: 1 });
  beat();
  await keys.find(key);
  keys.changed(changeOf(key, 2, clock));
  await expect(keys.find(key)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(asked()).toBe(4);
});

test('a replaced secret is refused from the second its grace period is over, also without auth', async () => {
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

test('a key is known for 24 h since it was verified, also after a change, but not after a refusal', async () => {
  const { peer, clock, keys } = await startKeys();
  const [key, revoked] = [newKey(), newKey()];
  peer.grant(key);
  peer.grant(revoked);
  expect(keys.isKnown(key)).toBe(false);
  await Promise.all([keys.find(key), keys.find(revoked)]);
  keys.changed(changeOf(key, 2, clock, [revoked]));
  expect([key, revoked].map((each) => keys.isKnown(each))).toEqual([true, true]);
  peer.revoke(revoked);
  await keys.find(revoked);
  expect(keys.isKnown(revoked)).toBe(false);
  clock.advance(24 * 3_600_000 - 1);
  expect(keys.isKnown(key)).toBe(true);
  clock.advance(1);
  expect(keys.isKnown(key)).toBe(false);
});

test('a revoked key is remembered as refused', async () => {
  const { peer, clock, keys, beat, asked } = await startKeys();
  const key = newKey();
  peer.grant(key);
  beat();
  await keys.find(key);
  peer.revoke(key);
  keys.changed(changeOf(key, 2, clock));
  expect(await keys.find(key)).toBeUndefined();
  expect(await keys.find(key)).toBeUndefined();
  expect(asked()).toBe(2);
});

test('a clock that is set back makes nothing fresh', async () => {
  const { peer, clock, keys, beat } = await startKeys();
  const key = newKey();
  peer.grant(key);
  beat();
  await keys.find(key);
  clock.advance(-3_600_000);
  expect(keys.peek(key)).toBeUndefined();
});

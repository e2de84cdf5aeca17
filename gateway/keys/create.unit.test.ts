import { expect, onTestFinished, test } from 'vitest';
import { Lifecycle } from '#kit/service/lifecycle.ts';
import { createKeys } from './create.ts';
import { changeMessage, changeOf, metric, newKey, silentLog, startPeer } from './fixtures/auth-peer.ts';

/** Everything put together, with a stream that has beaten once. */
async function setUp() {
  const { peer, clock, metrics, client } = await startPeer();
  const config = { AUTH_STALE_SECONDS: 60, KEY_CACHE_MAX: 100 };
  const { keys, usage, parts } = createKeys({ client, clock, metrics, config, random: () => 0.5, log: silentLog });
  const lifecycle = new Lifecycle(silentLog);
  for (const part of parts) lifecycle.add(part);
  await lifecycle.start();
  onTestFinished(() => lifecycle.stop());
  const isAlive = () => metric(metrics, 'gateway_key_stream_alive');
  /** Beats on the given stream, counted from 1, and waits until it was heard. */
  const beatOn = async (stream: number) => {
    await expect.poll(() => peer.opened).toBe(stream);
    peer.beat();
    await expect.poll(isAlive).toBe(1);
  };
  await beatOn(1);
  const known = async () => {
    const key = newKey();
    peer.grant(key);
    await keys.find(key);
    return key;
  };
  return { peer, clock, keys, usage, lifecycle, isAlive, beatOn, known };
}

test('a change that auth tells makes the key be verified again', async () => {
  const { peer, clock, keys, known } = await setUp();
  const key = await known();
  expect(keys.peek(key)).toBeDefined();
  peer.revoke(key);
  peer.change(changeOf(key, 2, clock));
  await expect.poll(() => keys.peek(key)).toBeUndefined();
  expect(await keys.find(key)).toBeUndefined();
});

test('a beat has a key in use verified again in the last quarter of its time', async () => {
  const { peer, clock, keys, known } = await setUp();
  const key = await known();
  for (let beats = 0; beats < 6; beats++) {
    clock.advance(9_000);
    peer.beat();
    await expect.poll(() => keys.peek(key), { interval: 1 }).toBeDefined();
  }
  peer.beat();
  await expect.poll(() => peer.messages.flat().length).toBe(2);
});

test('beats keep a key fresh past the short time', async () => {
  const { peer, clock, keys, known } = await setUp();
  const [key, other] = [await known(), await known()];
  for (let version = 2; version < 12; version++) {
    clock.advance(1_000);
    peer.beat();
    // The change that follows a beat shows that the beat was heard.
    peer.grant(other, { version });
    peer.change(changeOf(other, version, clock));
    await expect.poll(() => keys.peek(other), { interval: 1 }).toBeUndefined();
    await keys.find(other);
  }
  expect(keys.peek(key)).toBeDefined();
});

test('a stream that is back within 10 s tells what was missed, and vouches for the rest', async () => {
  const { peer, clock, keys, isAlive, beatOn, known } = await setUp();
  const [changed, same] = [await known(), await known()];
  clock.advance(9_999);
  peer.replay = [changeMessage(changeOf(changed, 2, clock))];
  peer.endStreams();
  await expect.poll(isAlive).toBe(0);
  await beatOn(2);
  expect(keys.peek(changed)).toBeUndefined();
  expect(keys.peek(same)).toBeDefined();
});

test('a stream that is back later vouches for nothing from before', async () => {
  const { peer, clock, keys, isAlive, beatOn, known } = await setUp();
  const key = await known();
  clock.advance(10_000);
  peer.endStreams();
  await expect.poll(isAlive).toBe(0);
  await beatOn(2);
  expect(keys.peek(key)).toBeUndefined();
  const later = await known();
  expect(keys.peek(later)).toBeDefined();
});

test('with auth gone known keys go on, and with auth back unknown ones do again', async () => {
  const { peer, clock, keys, isAlive, beatOn, known } = await setUp();
  const key = await known();
  await peer.stop();
  await expect.poll(isAlive).toBe(0);
  clock.advance(30_000);
  const next = newKey();
  peer.grant(next);
  const found = keys.find(next);
  await peer.start();
  expect(await found).toBeDefined();
  await beatOn(2);
  expect(await keys.find(key)).toBeDefined();
});

test('stopping ends the stream and tells the last uses', async () => {
  const { peer, keys, usage, lifecycle, known } = await setUp();
  const grant = keys.peek(await known());
  if (grant) usage.record(grant);
  await lifecycle.stop();
  expect(peer.uses.flat()).toHaveLength(1);
  await expect.poll(() => peer.streams).toBe(0);
});

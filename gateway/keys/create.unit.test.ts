import { expect, onTestFinished, test } from 'vitest';
import { Lifecycle } from '#kit/service/lifecycle.ts';
import { createKeys } from './create.ts';
import { changeMessage, changeOf, metric, newKey, silentLog, startPeer } from './fixtures/auth-peer.ts';

/** All parts together, with a stream that has sent one heartbeat. */
async function setUp() {
  const { peer, clock, metrics, client } = await startPeer();
  const config = { AUTH_STALE_SECONDS: 60, KEY_CACHE_MAX: 100 };
  const { keys, usage, parts } = createKeys({ client, clock, metrics, config, random: () => 0.5, log: silentLog });
  const lifecycle = new Lifecycle(silentLog);
  for (const part of parts) lifecycle.add(part);
  await lifecycle.start();
  onTestFinished(() => lifecycle.stop());
  const isAlive = () => metric(metrics, 'gateway_key_stream_alive');
  /** Sends heartbeats until the gateway has received one; on a slow machine it may replace a stream before that. */
  const connected = async () => {
    const isAliveAfterBeat = () => {
      peer.beat();
      return isAlive();
    };
    await expect.poll(isAliveAfterBeat).toBe(1);
  };
  await connected();
  const verifiedKey = async () => {
    const key = newKey();
    peer.grant(key);
    await keys.find(key);
    return key;
  };
  return { peer, clock, keys, usage, lifecycle, isAlive, connected, verifiedKey };
}

test('after a change from auth the key is verified again', async () => {
  const { peer, clock, keys, verifiedKey } = await setUp();
  const key = await verifiedKey();
  expect(keys.peek(key)).toBeDefined();
  peer.revoke(key);
  peer.change(changeOf(key, 2, clock));
  await expect.poll(() => keys.peek(key)).toBeUndefined();
  expect(await keys.find(key)).toBeUndefined();
});

test('a heartbeat renews a key in use in the last quarter of its fresh time', async () => {
  const { peer, clock, keys, verifiedKey } = await setUp();
  const key = await verifiedKey();
  for (let beats = 0; beats < 6; beats++) {
    clock.advance(9_000);
    // A single heartbeat would be lost if the gateway reconnected just then because of the silence of nine seconds.
    const peekAfterBeat = () => {
      peer.beat();
      return keys.peek(key);
    };
    await expect.poll(peekAfterBeat, { interval: 5 }).toBeDefined();
  }
  peer.beat();
  await expect.poll(() => peer.messages.flat().length).toBe(2);
});

test('beats keep a key fresh for longer than without a stream', async () => {
  const { peer, clock, keys, verifiedKey } = await setUp();
  const [key, other] = [await verifiedKey(), await verifiedKey()];
  for (let version = 2; version < 12; version++) {
    clock.advance(1_000);
    peer.beat();
    // The change after a heartbeat proves that the heartbeat was received.
    peer.grant(other, { version });
    peer.change(changeOf(other, version, clock));
    await expect.poll(() => keys.peek(other), { interval: 1 }).toBeUndefined();
    await keys.find(other);
  }
  expect(keys.peek(key)).toBeDefined();
});

test('a stream that is back within 10 s repeats missed changes, and all other keys stay fresh', async () => {
  const { peer, clock, keys, isAlive, connected, verifiedKey } = await setUp();
  const [changed, same] = [await verifiedKey(), await verifiedKey()];
  clock.advance(9_999);
  peer.replay = [changeMessage(changeOf(changed, 2, clock))];
  peer.endStreams();
  await expect.poll(isAlive).toBe(0);
  await connected();
  expect(keys.peek(changed)).toBeUndefined();
  expect(keys.peek(same)).toBeDefined();
});

test('after a longer gap keys from before it must be verified again', async () => {
  const { peer, clock, keys, isAlive, connected, verifiedKey } = await setUp();
  const key = await verifiedKey();
  clock.advance(10_000);
  peer.endStreams();
  await expect.poll(isAlive).toBe(0);
  await connected();
  expect(keys.peek(key)).toBeUndefined();
  const later = await verifiedKey();
  expect(keys.peek(later)).toBeDefined();
});

test('without auth cached keys stay valid, and unknown keys are found once auth is back', async () => {
  const { peer, clock, keys, isAlive, connected, verifiedKey } = await setUp();
  const key = await verifiedKey();
  await peer.stop();
  await expect.poll(isAlive).toBe(0);
  clock.advance(30_000);
  const next = newKey();
  peer.grant(next);
  await peer.start();
  // Until the connection is back, a lookup fails and has to be repeated by the client.
  await expect.poll(() => keys.find(next).catch(() => undefined)).toBeDefined();
  await connected();
  expect(await keys.find(key)).toBeDefined();
});

test('stopping ends the stream and reports the last usage', async () => {
  const { peer, keys, usage, lifecycle, verifiedKey } = await setUp();
  const grant = keys.peek(await verifiedKey());
  if (grant) usage.record(grant);
  await lifecycle.stop();
  expect(peer.uses.flat()).toHaveLength(1);
  await expect.poll(() => peer.streams).toBe(0);
});

import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { changeMessage, changeOf, metric, newKey, startPeer } from './fixtures/auth-peer.ts';
import { ChangeWatch } from './watch.ts';

async function setUp() {
  const { peer, clock, metrics, client } = await startPeer();
  const received: string[] = [];
  const logged: string[] = [];
  const log = pino({}, { write: (line: string) => void logged.push((JSON.parse(line) as { msg: string }).msg) });
  const watch = new ChangeWatch({
    client,
    clock,
    metrics,
    random: () => 0,
    log,
    onBeat: () => received.push('beat'),
    onChange: ({ version }) => received.push(`version ${version}`),
    onDisconnect: () => received.push('disconnect'),
  });
  await watch.start();
  onTestFinished(() => watch.stop());
  const isAlive = () => metric(metrics, 'gateway_key_stream_alive');
  const open = async (streams = 1) => {
    await expect.poll(() => peer.opened).toBe(streams);
  };
  return { peer, clock, metrics, watch, received, logged, isAlive, open };
}

test('beats and changes are passed on in order; the stream is alive from its first heartbeat', async () => {
  const { peer, clock, received, isAlive, open } = await setUp();
  await open();
  expect(await isAlive()).toBe(0);
  peer.change(changeOf(newKey(), 3, clock));
  peer.beat();
  peer.change(changeOf(newKey(), 4, clock));
  await expect.poll(() => received).toEqual(['version 3', 'beat', 'version 4']);
  expect(await isAlive()).toBe(1);
});

test('a stream that ends counts as disconnected and is opened again', async () => {
  const { peer, received, isAlive, open } = await setUp();
  await open();
  peer.beat();
  await expect.poll(() => received).toEqual(['beat']);
  peer.endStreams();
  await expect.poll(() => received).toEqual(['beat', 'disconnect']);
  expect(await isAlive()).toBe(0);
  await open(2);
  peer.beat();
  await expect.poll(() => received).toEqual(['beat', 'disconnect', 'beat']);
  expect(await isAlive()).toBe(1);
});

test('the loss of the stream is logged once heartbeats are missing, but not if another stream replaces it in time', async () => {
  const { peer, clock, received, logged, open } = await setUp();
  const RECEIVING = 'receiving API key changes from auth';
  await open();
  for (const streams of [2, 3]) {
    peer.beat();
    await expect.poll(() => received.at(-1)).toBe('beat');
    clock.advance(2_000);
    peer.endStreams();
    await open(streams);
  }
  peer.beat();
  await expect.poll(() => received.at(-1)).toBe('beat');
  expect(logged).toEqual([RECEIVING]);
  clock.advance(2_500);
  await expect
    .poll(() => logged)
    .toEqual([RECEIVING, 'no longer receiving API key changes from auth, connecting again']);
  await open(4);
  peer.beat();
  await expect.poll(() => logged.at(-1)).toBe(RECEIVING);
});

test('a stream without a heartbeat for 2.5 s counts as disconnected and is replaced', async () => {
  const { peer, clock, received, open } = await setUp();
  await open();
  peer.beat();
  await expect.poll(() => received).toEqual(['beat']);
  clock.advance(2_500);
  await expect.poll(() => received).toEqual(['beat', 'disconnect']);
  await open(2);
  await expect.poll(() => peer.streams).toBe(1);
});

test('a stream that never sends a heartbeat is replaced without a disconnect event', async () => {
  const { peer, clock, received, open } = await setUp();
  await open();
  clock.advance(2_500);
  await open(2);
  await expect.poll(() => peer.streams).toBe(1);
  expect(received).toEqual([]);
});

test('it reconnects after auth rejected the stream, and after auth was down', async () => {
  const { peer, received, open } = await setUp();
  await open();
  peer.isFailing = true;
  peer.endStreams();
  await expect.poll(() => peer.streams).toBe(0);
  peer.isFailing = false;
  await open(2);
  await peer.stop();
  await peer.start();
  await open(3);
  peer.beat();
  await expect.poll(() => received).toEqual(['beat']);
});

test('it opens no stream after it was stopped', async () => {
  const { peer, watch, open } = await setUp();
  await open();
  await watch.stop();
  await expect.poll(() => peer.streams).toBe(0);
  await new Promise((resolve) => setImmediate(resolve));
  expect(peer.opened).toBe(1);
});

test('the propagation time of a change is measured once, and not for changes from before the first stream', async () => {
  const { peer, clock, metrics, received, open } = await setUp();
  const family = 'gateway_key_change_propagation_seconds';
  await open();
  const early = changeOf(newKey(), 1, clock);
  peer.change(early);
  peer.beat();
  peer.change(early);
  await expect.poll(() => received).toHaveLength(3);
  const change = changeOf(newKey(), 2, clock);
  clock.advance(250);
  peer.change(change);
  peer.change(change);
  peer.beat();
  await expect.poll(() => received).toHaveLength(6);
  expect(await metric(metrics, `${family}_count`)).toBe(1);
  expect(await metric(metrics, `${family}_sum`)).toBe(0.25);
  clock.advance(1);
  peer.replay = [change, changeOf(newKey(), 3, clock)].map(changeMessage);
  peer.endStreams();
  await expect.poll(() => received.slice(6)).toEqual(['disconnect', 'version 2', 'version 3']);
  expect(await metric(metrics, `${family}_count`)).toBe(2);
});

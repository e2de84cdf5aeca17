import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { changeMessage, changeOf, metric, newKey, startPeer } from './fixtures/auth-peer.ts';
import { ChangeWatch } from './watch.ts';

async function setUp() {
  const { peer, clock, metrics, client } = await startPeer();
  const heard: string[] = [];
  const logged: string[] = [];
  const log = pino({}, { write: (line: string) => void logged.push((JSON.parse(line) as { msg: string }).msg) });
  const watch = new ChangeWatch({
    client,
    clock,
    metrics,
    random: () => 0,
    log,
    beat: () => heard.push('beat'),
    changed: ({ version }) => heard.push(`version ${version}`),
    cut: () => heard.push('cut'),
  });
  await watch.start();
  onTestFinished(() => watch.stop());
  const isAlive = () => metric(metrics, 'gateway_key_stream_alive');
  const open = async (streams = 1) => {
    await expect.poll(() => peer.opened).toBe(streams);
  };
  return { peer, clock, metrics, watch, heard, logged, isAlive, open };
}

test('beats and changes are told in order; the stream is alive from its first beat', async () => {
  const { peer, clock, heard, isAlive, open } = await setUp();
  await open();
  expect(await isAlive()).toBe(0);
  peer.change(changeOf(newKey(), 3, clock));
  peer.beat();
  peer.change(changeOf(newKey(), 4, clock));
  await expect.poll(() => heard).toEqual(['version 3', 'beat', 'version 4']);
  expect(await isAlive()).toBe(1);
});

test('a stream that ends is cut, and opened again', async () => {
  const { peer, heard, isAlive, open } = await setUp();
  await open();
  peer.beat();
  await expect.poll(() => heard).toEqual(['beat']);
  peer.endStreams();
  await expect.poll(() => heard).toEqual(['beat', 'cut']);
  expect(await isAlive()).toBe(0);
  await open(2);
  peer.beat();
  await expect.poll(() => heard).toEqual(['beat', 'cut', 'beat']);
  expect(await isAlive()).toBe(1);
});

test('the log tells a loss once beats are missing, and not when another stream takes over in time', async () => {
  const { peer, clock, heard, logged, open } = await setUp();
  const HEARD = 'changes of keys are heard';
  await open();
  for (const streams of [2, 3]) {
    peer.beat();
    await expect.poll(() => heard.at(-1)).toBe('beat');
    clock.advance(2_000);
    peer.endStreams();
    await open(streams);
  }
  peer.beat();
  await expect.poll(() => heard.at(-1)).toBe('beat');
  expect(logged).toEqual([HEARD]);
  clock.advance(2_500);
  await expect.poll(() => logged).toEqual([HEARD, 'changes of keys are no longer heard']);
  await open(4);
  peer.beat();
  await expect.poll(() => logged.at(-1)).toBe(HEARD);
});

test('a stream that misses two beats is cut, and another is opened in its place', async () => {
  const { peer, clock, heard, open } = await setUp();
  await open();
  peer.beat();
  await expect.poll(() => heard).toEqual(['beat']);
  clock.advance(2_500);
  await expect.poll(() => heard).toEqual(['beat', 'cut']);
  await open(2);
  await expect.poll(() => peer.streams).toBe(1);
});

test('a stream that never beats is given up for another, and nothing that was alive is cut', async () => {
  const { peer, clock, heard, open } = await setUp();
  await open();
  clock.advance(2_500);
  await open(2);
  await expect.poll(() => peer.streams).toBe(1);
  expect(heard).toEqual([]);
});

test('it comes back to an auth that refuses at first, and to one that was gone', async () => {
  const { peer, heard, open } = await setUp();
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
  await expect.poll(() => heard).toEqual(['beat']);
});

test('once stopped it opens no stream', async () => {
  const { peer, watch, open } = await setUp();
  await open();
  await watch.stop();
  await expect.poll(() => peer.streams).toBe(0);
  await new Promise((resolve) => setImmediate(resolve));
  expect(peer.opened).toBe(1);
});

test('the time a change took is counted once, however often it is told, and not if it was made before the watch', async () => {
  const { peer, clock, metrics, heard, open } = await setUp();
  const family = 'gateway_key_change_propagation_seconds';
  await open();
  const early = changeOf(newKey(), 1, clock);
  peer.change(early);
  peer.beat();
  peer.change(early);
  await expect.poll(() => heard).toHaveLength(3);
  const change = changeOf(newKey(), 2, clock);
  clock.advance(250);
  peer.change(change);
  peer.change(change);
  peer.beat();
  await expect.poll(() => heard).toHaveLength(6);
  expect(await metric(metrics, `${family}_count`)).toBe(1);
  expect(await metric(metrics, `${family}_sum`)).toBe(0.25);
  clock.advance(1);
  peer.replay = [change, changeOf(newKey(), 3, clock)].map(changeMessage);
  peer.endStreams();
  await expect.poll(() => heard.slice(6)).toEqual(['cut', 'version 2', 'version 3']);
  expect(await metric(metrics, `${family}_count`)).toBe(2);
});

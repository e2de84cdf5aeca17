import { expect, test } from 'vitest';
import { RedisPeers } from './redis-peers.ts';

/** Three processes, of which this is one, after a second in which all have sent a probe. */
function threeProcesses(): RedisPeers {
  const peers = new RedisPeers();
  for (const peer of ['own', 'second', 'third']) peers.saw(peer, 0);
  expect(peers.wereLost(3, 0)).toBe(false);
  return peers;
}

test('a process that disappears is reported at the next probe and the one after it, and then no more', () => {
  const peers = threeProcesses();
  expect(
    [1_000, 2_000, 3_000].map((now) => {
      for (const peer of ['own', 'second']) peers.saw(peer, now);
      return peers.wereLost(2, now);
    }),
  ).toEqual([true, true, false]);
});

test('a process that is replaced within a second by another one is reported', () => {
  const peers = threeProcesses();
  peers.saw('fourth', 900);
  // The fourth receives instead of the third.
  expect(peers.wereLost(3, 1_000)).toBe(true);
});

test('a further process is no loss', () => {
  const peers = threeProcesses();
  expect(peers.wereLost(4, 1_000)).toBe(false);
  peers.saw('fourth', 1_100);
  expect(peers.wereLost(4, 2_000)).toBe(false);
});

test('a process whose connection stays but that sends no probes for five seconds is reported', () => {
  const peers = threeProcesses();
  for (let now = 1_000; now <= 5_000; now += 1_000) {
    for (const peer of ['own', 'second']) peers.saw(peer, now);
    expect(peers.wereLost(3, now)).toBe(false);
  }
  peers.saw('own', 6_000);
  expect(peers.wereLost(3, 6_000)).toBe(true);
});

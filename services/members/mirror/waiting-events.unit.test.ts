import { expect, test } from 'vitest';
import type { PreparedEvent } from './mirror-writer.ts';
import { WaitingEvents, WaitingTotal } from './waiting-events.ts';

let sequence = 0;
const event = (parts: number): PreparedEvent => ({
  sessionId: 'session',
  sequence: ++sequence,
  type: 'GUILD_CREATE',
  parts,
  store: async () => undefined,
});

/** How many events of so many parts the shards take in turn until none of them takes more. */
function fill(shards: readonly WaitingEvents[], parts: number): number[] {
  while (shards.some(({ isFull }) => !isFull)) for (const shard of shards) if (!shard.isFull) shard.add(event(parts));
  return shards.map(({ size }) => size);
}
const shardsOf = (count: number, total: WaitingTotal) => Array.from({ length: count }, () => new WaitingEvents(total));

test('a single shard may have everything waiting that its process may', () => {
  expect(fill(shardsOf(1, new WaitingTotal({ maxEvents: 60 })), 0)).toEqual([60]);
  expect(fill(shardsOf(1, new WaitingTotal({ maxParts: 60 })), 2)).toEqual([30]);
});

test('shards of a process that fill up together have no more waiting than one', () => {
  expect(fill(shardsOf(6, new WaitingTotal({ maxEvents: 60 })), 0)).toEqual([10, 10, 10, 10, 10, 10]);
  expect(fill(shardsOf(6, new WaitingTotal({ maxParts: 60 })), 2)).toEqual([5, 5, 5, 5, 5, 5]);
});

test('a shard with many events does not stop the others, which have their part', () => {
  const [large, ...others] = shardsOf(6, new WaitingTotal({ maxEvents: 60 })) as [WaitingEvents, ...WaitingEvents[]];
  expect(fill([large], 0)).toEqual([60]);
  expect(others.map(({ isFull }) => isFull)).toEqual(others.map(() => false));
  expect(fill(others, 0)).toEqual([10, 10, 10, 10, 10]);
});

test('what is stored, and what a shard had that has ended, leaves room for the others', () => {
  const [first, second] = shardsOf(2, new WaitingTotal({ maxEvents: 60 })) as [WaitingEvents, WaitingEvents];
  fill([first, second], 0);
  first.remove(first.oldest(10));
  expect([first.isFull, second.isFull]).toEqual([false, false]);
  fill([first, second], 0);
  second.end();
  expect(fill([first], 0)).toEqual([60]);
});

import { expect, test } from 'vitest';
import { SharedSlots, shareOf } from './slots.ts';

test.each([
  ['a tenth', 2_000, 0, 200],
  ['what a guild needs where that is more', 20_000, 4_000, 4_000],
  ['never more than half for that', 1_000, 2_000, 500],
  ['at least one', 3, 0, 1],
])('a share is %s', (_what, max, needed, share) => {
  expect(shareOf(max, needed)).toBe(share);
});

test('a holder takes no more than its share, and leaves the rest to others', () => {
  const slots = new SharedSlots<string>(10, 2);
  expect([slots.take('one'), slots.take('one'), slots.take('one')]).toEqual([true, true, false]);
  expect(slots.take('other')).toBe(true);
  slots.release('one');
  expect([slots.take('one'), slots.take('one'), slots.taken]).toEqual([true, false, 3]);
});

test('when all slots are taken nobody gets one, and a refused one takes nothing', () => {
  const slots = new SharedSlots<string>(3, 2);
  for (const holder of ['a', 'a', 'b']) expect(slots.take(holder)).toBe(true);
  expect([slots.isFull, slots.take('b'), slots.take('c'), slots.taken]).toEqual([true, false, false, 3]);
  for (const holder of ['a', 'a', 'b']) slots.release(holder);
  expect([slots.isFull, slots.taken, slots.take('a')]).toEqual([false, 0, true]);
});

import { expect, test } from 'vitest';
import { SharedSlots, shareOf } from './slots.ts';

test.each([
  ['a tenth', 2_000, 0, 200],
  ['the needed number if that is more', 20_000, 4_000, 4_000],
  ['at most half if more is needed', 1_000, 2_000, 500],
  ['at least one', 3, 0, 1],
])('a share is %s', (_what, max, needed, share) => {
  expect(shareOf(max, needed)).toBe(share);
});

test('a holder cannot take more than its share, and others can take the rest', () => {
  const slots = new SharedSlots<string>(10, 2);
  expect([slots.take('one'), slots.take('one'), slots.take('one')]).toEqual([true, true, false]);
  expect(slots.take('other')).toBe(true);
  slots.release('one');
  expect([slots.take('one'), slots.take('one'), slots.taken]).toEqual([true, false, 3]);
});

test('no holder gets a slot while all are taken', () => {
  const slots = new SharedSlots<string>(3, 2);
  for (const holder of ['a', 'a', 'b']) expect(slots.take(holder)).toBe(true);
  expect([slots.isFull, slots.take('b'), slots.take('c'), slots.taken]).toEqual([true, false, false, 3]);
  for (const holder of ['a', 'a', 'b']) slots.release(holder);
  expect([slots.isFull, slots.taken, slots.take('a')]).toEqual([false, 0, true]);
});

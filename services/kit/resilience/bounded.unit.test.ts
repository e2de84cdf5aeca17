import { expect, test } from 'vitest';
import { evictOldest } from './bounded.ts';

const numbers = (count: number) => new Map(Array.from({ length: count }, (_, index) => [index, index]));

test('a map within its limit keeps all entries', () => {
  const map = numbers(5);
  evictOldest(map, 5);
  expect(map.size).toBe(5);
});

test('a small map evicts only the entries above its limit, the oldest first', () => {
  const map = numbers(7);
  evictOldest(map, 5);
  expect([...map.keys()]).toEqual([2, 3, 4, 5, 6]);
});

test('a large map evicts one per cent at a time', () => {
  const map = numbers(10_001);
  evictOldest(map, 10_000);
  expect(map.size).toBe(9_900);
  expect(map.has(100)).toBe(false);
  expect(map.has(101)).toBe(true);
});

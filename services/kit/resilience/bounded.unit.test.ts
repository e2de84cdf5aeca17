import { expect, test } from 'vitest';
import { dropOldest } from './bounded.ts';

const numbers = (count: number) => new Map(Array.from({ length: count }, (_, index) => [index, index]));

test('a map within its bound keeps all', () => {
  const map = numbers(5);
  dropOldest(map, 5);
  expect(map.size).toBe(5);
});

test('of a small map only what is beyond the bound goes, the first added first', () => {
  const map = numbers(7);
  dropOldest(map, 5);
  expect([...map.keys()]).toEqual([2, 3, 4, 5, 6]);
});

test('of a large map a hundredth goes together, so that it is within its bound for a while', () => {
  const map = numbers(10_001);
  dropOldest(map, 10_000);
  expect(map.size).toBe(9_900);
  expect(map.has(100)).toBe(false);
  expect(map.has(101)).toBe(true);
});

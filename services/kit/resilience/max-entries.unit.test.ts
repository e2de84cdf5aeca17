import { LRUCache } from 'lru-cache';
import { expect, test } from 'vitest';
import { maxEntries } from './max-entries.ts';

test('a cache evicts the least recently used entry above its maximum', () => {
  const cache = new LRUCache<string, number>(maxEntries(3));
  for (const [index, key] of ['a', 'b', 'c'].entries()) cache.set(key, index);
  cache.get('a');
  cache.set('c', 7);
  cache.set('d', 8);
  expect([...cache.entries()]).toEqual([
    ['d', 8],
    ['c', 7],
    ['a', 0],
  ]);
});

test('a cache takes no memory for entries that it does not hold', () => {
  // Twice four bytes for each entry, with arrays of that length.
  const entries = 50_000_000;
  const before = process.memoryUsage().arrayBuffers;
  const cache = new LRUCache<string, number>(maxEntries(entries));
  cache.set('a', 1);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(entries);
  expect(cache.maxSize).toBe(entries);
});

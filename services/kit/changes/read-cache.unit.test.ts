import { expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { ReadCache } from './read-cache.ts';

const GUILD = '900000000000000001';
const OTHER_GUILD = '900000000000000002';

const clock = new ManualClock();
const newCache = (max = 100) => new ReadCache<object>({ clock, ttlMs: 10_000, max });

function fill(cache: ReadCache<object>, scope: string, key: string): object {
  const value = {};
  cache.store(cache.beginRead(), scope, key, value);
  return value;
}

test('caches by key for ten seconds from the start of the read', () => {
  const cache = newCache();
  const read = cache.beginRead();
  const value = {};
  clock.advance(3_000);
  cache.store(read, GUILD, 'a', value);
  clock.advance(6_999);
  expect(cache.find(GUILD, 'a')).toBe(value);
  expect(cache.find(GUILD, 'b')).toBeUndefined();
  clock.advance(1);
  expect(cache.find(GUILD, 'a')).toBeUndefined();
});

test('a change invalidates only its scope', () => {
  const cache = newCache();
  fill(cache, GUILD, 'a');
  const other = fill(cache, OTHER_GUILD, 'b');
  cache.invalidate(GUILD);
  expect([cache.find(GUILD, 'a'), cache.find(OTHER_GUILD, 'b')]).toEqual([undefined, other]);
  const later = fill(cache, GUILD, 'a');
  expect(cache.find(GUILD, 'a')).toBe(later);
});

test.each([
  ['of the scope', (cache: ReadCache<object>) => cache.invalidate(GUILD)],
  ['that may have been missed', (cache: ReadCache<object>) => cache.invalidateAll()],
  [
    'in more than 10,000 scopes, which invalidates the whole cache',
    (cache: ReadCache<object>) => {
      cache.invalidate(GUILD);
      for (let guild = 0; guild < 10_000; guild++) cache.invalidate(`guild ${guild}`);
    },
  ],
])('the result of a read is not cached after a change %s during the read', (_case, change) => {
  const cache = newCache();
  const read = cache.beginRead();
  change(cache);
  cache.store(read, GUILD, 'a', {});
  expect(cache.find(GUILD, 'a')).toBeUndefined();
  const later = fill(cache, GUILD, 'a');
  expect(cache.find(GUILD, 'a')).toBe(later);
});

test('the result of a read is cached after a change in another scope during the read', () => {
  const cache = newCache();
  const read = cache.beginRead();
  cache.invalidate(OTHER_GUILD);
  const value = {};
  cache.store(read, GUILD, 'a', value);
  expect(cache.find(GUILD, 'a')).toBe(value);
});

test('evicts the least recently used entry above the maximum', () => {
  const cache = newCache(3);
  for (const key of ['a', 'b', 'c']) fill(cache, GUILD, key);
  cache.find(GUILD, 'a');
  fill(cache, GUILD, 'd');
  expect(['a', 'b', 'c', 'd'].filter((key) => cache.find(GUILD, key))).toEqual(['a', 'c', 'd']);
});

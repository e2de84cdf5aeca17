import { expect, test } from 'vitest';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { GrantCache } from './cache.ts';
import { Rejections } from './rejections.ts';

const grantOf = (version: number): KeyGrant => ({
  keyId: '900000000000000001-1',
  guildId: '900000000000000001',
  prefix: 'service_900000000000000001_abcdef',
  legacy: true,
  scopes: [],
  ipAllowlist: [],
  rateLimit: 0,
  expiresAt: 0,
  validUntil: 0,
  version,
});

test('the least recently used key is evicted first', () => {
  const cache = new GrantCache(2);
  cache.set('a', { grant: grantOf(1), readAt: 0, jitter: 1 });
  cache.set('b', { grant: grantOf(1), readAt: 0, jitter: 1 });
  cache.get('a');
  cache.set('c', { grant: grantOf(1), readAt: 1, jitter: 1 });
  expect(cache.size).toBe(2);
  expect(cache.get('b')).toBeUndefined();
  expect(cache.get('a')).toBeDefined();
});

test('keys with the same scopes share one list', () => {
  const cache = new GrantCache(2);
  cache.set('a', { grant: { ...grantOf(1), scopes: ['lookup:read', 'sync:write'] }, readAt: 0, jitter: 1 });
  cache.set('b', { grant: { ...grantOf(1), scopes: ['lookup:read', 'sync:write'] }, readAt: 0, jitter: 1 });
  expect(cache.get('b')?.grant.scopes).toEqual(['lookup:read', 'sync:write']);
  expect(cache.get('b')?.grant.scopes).toBe(cache.get('a')?.grant.scopes);
});

test('an older version never replaces a newer one, and the same version refreshes it', () => {
  const cache = new GrantCache(2);
  cache.set('a', { grant: grantOf(2), readAt: 10, jitter: 1 });
  cache.set('a', { grant: grantOf(1), readAt: 20, jitter: 1 });
  expect(cache.get('a')).toMatchObject({ readAt: 10, grant: { version: 2 } });
  cache.set('a', { grant: grantOf(2), readAt: 30, jitter: 1 });
  expect(cache.get('a')?.readAt).toBe(30);
});

test('a change marks the entry until a grant of that version is stored; old and repeated changes are ignored', () => {
  const cache = new GrantCache(2);
  cache.set('a', { grant: grantOf(2), readAt: 0, jitter: 1 });
  cache.markChanged('a', 2);
  expect(cache.get('a')?.changedVersion).toBe(0);
  cache.markChanged('a', 4);
  cache.markChanged('a', 3);
  expect(cache.get('a')?.changedVersion).toBe(4);
  cache.set('a', { grant: grantOf(3), readAt: 10, jitter: 1 });
  expect(cache.get('a')).toMatchObject({ changedVersion: 4, grant: { version: 2 } });
  cache.set('a', { grant: grantOf(4), readAt: 20, jitter: 1 });
  expect(cache.get('a')).toMatchObject({ changedVersion: 0, grant: { version: 4 } });
});

test('a change of a key that is not cached adds no entry', () => {
  const cache = new GrantCache(2);
  cache.markChanged('a', 2);
  expect(cache.size).toBe(0);
});

test('rejected keys are cached for five seconds, at most 10,000; beyond that the oldest is evicted', () => {
  const rejections = new Rejections();
  rejections.add('first', 1_000);
  expect(rejections.has('first', 5_999)).toBe(true);
  expect(rejections.has('first', 6_000)).toBe(false);
  for (let index = 0; index < 10_000; index++) rejections.add(`junk ${index}`, 1_000);
  expect(rejections.has('first', 1_000)).toBe(false);
  expect(rejections.has('junk 0', 1_000)).toBe(true);
  expect(rejections.has('junk 100', 1_000)).toBe(true);
  rejections.delete('junk 100');
  expect(rejections.has('junk 100', 1_000)).toBe(false);
});

import { expect, test } from 'vitest';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { GrantCache } from './cache.ts';
import { Refusals } from './refusals.ts';

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

test('the key that was verified longest ago is forgotten first', () => {
  const cache = new GrantCache(2);
  cache.keep('a', grantOf(1), 0, 1);
  cache.keep('b', grantOf(1), 0, 1);
  cache.keep('a', grantOf(1), 1, 1);
  cache.keep('c', grantOf(1), 1, 1);
  expect(cache.size).toBe(2);
  expect(cache.get('b')).toBeUndefined();
  expect(cache.get('a')).toBeDefined();
});

test('keys with the same scopes share them', () => {
  const cache = new GrantCache(2);
  cache.keep('a', { ...grantOf(1), scopes: ['lookup:read', 'sync:write'] }, 0, 1);
  cache.keep('b', { ...grantOf(1), scopes: ['lookup:read', 'sync:write'] }, 0, 1);
  expect(cache.get('b')?.grant.scopes).toEqual(['lookup:read', 'sync:write']);
  expect(cache.get('b')?.grant.scopes).toBe(cache.get('a')?.grant.scopes);
});

test('an older version never replaces a newer one, the same version confirms it', () => {
  const cache = new GrantCache(2);
  cache.keep('a', grantOf(2), 10, 1);
  cache.keep('a', grantOf(1), 20, 1);
  expect(cache.get('a')).toMatchObject({ readAt: 10, grant: { version: 2 } });
  cache.keep('a', grantOf(2), 30, 1);
  expect(cache.get('a')?.readAt).toBe(30);
});

test('a change stands until a version as new as it is seen; an old or repeated one says nothing', () => {
  const cache = new GrantCache(2);
  cache.keep('a', grantOf(2), 0, 1);
  cache.markChanged('a', 2);
  expect(cache.get('a')?.changedTo).toBe(0);
  cache.markChanged('a', 4);
  cache.markChanged('a', 3);
  expect(cache.get('a')?.changedTo).toBe(4);
  cache.keep('a', grantOf(3), 10, 1);
  expect(cache.get('a')).toMatchObject({ changedTo: 4, grant: { version: 2 } });
  cache.keep('a', grantOf(4), 20, 1);
  expect(cache.get('a')).toMatchObject({ changedTo: 0, grant: { version: 4 } });
});

test('a change of a key that is not known makes it no better known', () => {
  const cache = new GrantCache(2);
  cache.markChanged('a', 2);
  expect(cache.size).toBe(0);
});

test('refusals are remembered for five seconds, ten thousand at most; beyond that the oldest hundredth goes', () => {
  const refusals = new Refusals();
  refusals.add('first', 1_000);
  expect(refusals.has('first', 5_999)).toBe(true);
  expect(refusals.has('first', 6_000)).toBe(false);
  for (let index = 0; index < 10_000; index++) refusals.add(`junk ${index}`, 1_000);
  expect(refusals.has('first', 1_000)).toBe(false);
  expect(refusals.has('junk 99', 1_000)).toBe(false);
  expect(refusals.has('junk 100', 1_000)).toBe(true);
  refusals.drop('junk 100');
  expect(refusals.has('junk 100', 1_000)).toBe(false);
});

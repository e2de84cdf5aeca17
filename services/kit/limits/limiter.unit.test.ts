import { expect, test } from 'vitest';
import { type LimitState, limitKey, tightest } from './limiter.ts';

const state = (category: LimitState['category'], remaining: number): LimitState => ({
  category,
  limit: 60,
  remaining,
  resetMs: 1000,
});

test('the state with the fewest remaining requests is shown', () => {
  expect(tightest([state('lookup', 5), state('api_key', 4)])?.category).toBe('api_key');
  expect(tightest([state('lookup', 4), state('api_key', 5)])?.category).toBe('lookup');
  expect(tightest([])).toBeUndefined();
});

test('of two equally low states the category is shown, in whichever order they come', () => {
  expect(tightest([state('lookup', 4), state('api_key', 4)])?.category).toBe('lookup');
  expect(tightest([state('api_key', 4), state('lookup', 4)])?.category).toBe('lookup');
});

test('the Redis keys of one guild are in one slot', () => {
  expect(limitKey('900', { category: 'api_key', limit: 1, subject: 'k1' })).toBe('limit:{900}:api_key:k1');
});

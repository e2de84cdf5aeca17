import { expect, test } from 'vitest';
import { type Counted, limitKey, tightest } from './limiter.ts';

const state = (category: Counted['category'], remaining: number): Counted => ({
  category,
  limit: 60,
  remaining,
  resetMs: 1000,
});

test('the state with least remaining is told', () => {
  expect(tightest([state('lookup', 5), state('api_key', 4)])?.category).toBe('api_key');
  expect(tightest([state('lookup', 4), state('api_key', 5)])?.category).toBe('lookup');
  expect(tightest([])).toBeUndefined();
});

test('where two are equally low the category is told, in whichever order they come', () => {
  expect(tightest([state('lookup', 4), state('api_key', 4)])?.category).toBe('lookup');
  expect(tightest([state('api_key', 4), state('lookup', 4)])?.category).toBe('lookup');
});

test('the keys of one guild share the slot that the guild decides', () => {
  expect(limitKey('900', { category: 'api_key', limit: 1, subject: 'k1' })).toBe('limit:{900}:api_key:k1');
});

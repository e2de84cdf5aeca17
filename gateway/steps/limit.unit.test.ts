import { expect, test } from 'vitest';
import { errorBody } from '#kit/http/envelope.ts';
import { rateLimited } from './limit.ts';

const told = (category: string, limit: number, resetMs: number) => {
  const refusal = rateLimited({ category, limit, resetMs }, (seconds) => `${category} ${limit} ${seconds}`);
  const { message, details } = JSON.parse(errorBody(refusal)) as { message: string; details: Record<string, unknown> };
  return [message, details['category'], details['limit'], details['retryAfter'], refusal.retryAfter];
};

test('each refusal tells its own category, limit and seconds, whatever was told before', () => {
  for (const _again of [1, 2]) {
    expect(told('lookup', 60, 10_000)).toEqual(['lookup 60 10', 'lookup', 60, 10, 10]);
    expect(told('lookup', 30, 10_000)).toEqual(['lookup 30 10', 'lookup', 30, 10, 10]);
    expect(told('authentication', 30, 10_000)).toEqual(['authentication 30 10', 'authentication', 30, 10, 10]);
    expect(told('lookup', 30, 9_000)).toEqual(['lookup 30 9', 'lookup', 30, 9, 9]);
    expect(told('lookup', 30, 1)).toEqual(['lookup 30 1', 'lookup', 30, 1, 1]);
  }
});

test('the same refusal is made once within a second, since a flood tells it again and again', () => {
  const make = (resetMs: number) => rateLimited({ category: 'sync', limit: 5, resetMs }, String);
  expect(make(9_999)).toBe(make(9_001));
  expect(make(9_001)).not.toBe(make(9_000));
});

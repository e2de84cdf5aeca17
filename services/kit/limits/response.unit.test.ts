import { expect, test } from 'vitest';
import { errorBody } from '#kit/http/envelope.ts';
import { rateLimited } from './response.ts';

const reported = (category: string, limit: number, resetMs: number) => {
  const error = rateLimited({ category, limit, resetMs }, (seconds) => `${category} ${limit} ${seconds}`);
  const { message, details } = JSON.parse(errorBody(error)) as { message: string; details: Record<string, unknown> };
  return [message, details['category'], details['limit'], details['retryAfter'], error.retryAfter];
};

test('each 429 reports its own category, limit and seconds', () => {
  expect(reported('lookup', 60, 10_000)).toEqual(['lookup 60 10', 'lookup', 60, 10, 10]);
  expect(reported('lookup', 30, 10_000)).toEqual(['lookup 30 10', 'lookup', 30, 10, 10]);
  expect(reported('authentication', 30, 10_000)).toEqual(['authentication 30 10', 'authentication', 30, 10, 10]);
  expect(reported('lookup', 30, 9_000)).toEqual(['lookup 30 9', 'lookup', 30, 9, 9]);
  expect(reported('lookup', 30, 1)).toEqual(['lookup 30 1', 'lookup', 30, 1, 1]);
});

import { expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { RateLimitPauses } from './pauses.ts';

function noted(headers: Record<string, string>, body?: unknown) {
  const clock = new ManualClock();
  const pauses = new RateLimitPauses(clock);
  pauses.note('inventory', { headers: new Headers(headers), body });
  return { clock, pauses, left: ['inventory', 'memberships', ''].map((limit) => pauses.secondsLeft(limit)) };
}

test.each([
  ['no rate limit', { 'retry-after': '7' }, [7, 7, 7]],
  ['one rate limit', { 'retry-after': '7', 'x-ratelimit-reset': '9' }, [7, 0, 0]],
  ['the global rate limit', { 'retry-after': '7', 'x-ratelimit-reset': '9', 'x-ratelimit-global': 'true' }, [7, 7, 7]],
  ['one rate limit and its remaining seconds', { 'x-ratelimit-reset': '9' }, [9, 0, 0]],
  ['no time', {}, [1, 1, 1]],
  ['a fraction of a second', { 'retry-after': '0.3' }, [1, 1, 1]],
  ['a time in the past', { 'retry-after': 'Thu, 01 Jan 2015 00:00:00 GMT' }, [0, 0, 0]],
  ['a time too far in the future', { 'retry-after': '99999999' }, [3600, 3600, 3600]],
  ['an unreadable time', { 'retry-after': 'soon' }, [1, 1, 1]],
])('pause after a 429 that names %s', (_what, headers, left) => {
  expect(noted(headers as Record<string, string>).left).toEqual(left);
});

test.each([
  ['that it is not global', { global: false }, {}, [7, 0, 0]],
  ['that it is global', { global: true }, { 'x-ratelimit-reset': '9' }, [7, 7, 7]],
  ['nothing, with headers of one rate limit', { message: 'slow' }, { 'x-ratelimit-reset': '9' }, [7, 0, 0]],
  [
    'that it is not global, while a header says that it is global',
    { global: false },
    { 'x-ratelimit-global': 'true' },
    [7, 7, 7],
  ],
])('pause after a 429 whose body says %s', (_what, body, headers, left) => {
  expect(noted({ 'retry-after': '7', ...headers }, body).left).toEqual(left);
});

test('a pause ends exactly when its time has passed', () => {
  const { clock, pauses } = noted({ 'retry-after': '7' });
  clock.advance(6_999);
  expect(pauses.secondsLeft('inventory')).toBe(1);
  clock.advance(1);
  expect(pauses.secondsLeft('inventory')).toBe(0);
});

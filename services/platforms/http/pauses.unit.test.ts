import { expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { Quiet } from './pauses.ts';

function noted(headers: Record<string, string>, body?: unknown) {
  const clock = new ManualClock();
  const quiet = new Quiet(clock);
  quiet.note('inventory', { headers: new Headers(headers), body });
  return { clock, quiet, left: ['inventory', 'memberships', ''].map((limit) => quiet.secondsLeft(limit)) };
}

test.each([
  ['no limit at all', { 'retry-after': '7' }, [7, 7, 7]],
  ['a limit of its own', { 'retry-after': '7', 'x-ratelimit-reset': '9' }, [7, 0, 0]],
  ['the limit of all calls', { 'retry-after': '7', 'x-ratelimit-reset': '9', 'x-ratelimit-global': 'true' }, [7, 7, 7]],
  ['a limit and the seconds left of it', { 'x-ratelimit-reset': '9' }, [9, 0, 0]],
  ['no time', {}, [1, 1, 1]],
  ['a part of a second', { 'retry-after': '0.3' }, [1, 1, 1]],
  ['a time that has passed', { 'retry-after': 'Thu, 01 Jan 2015 00:00:00 GMT' }, [0, 0, 0]],
  ['a time too far away', { 'retry-after': '99999999' }, [3600, 3600, 3600]],
  ['what is no time', { 'retry-after': 'soon' }, [1, 1, 1]],
])('a 429 that names %s', (_what, headers, left) => {
  expect(noted(headers as Record<string, string>).left).toEqual(left);
});

test.each([
  ['that all calls are not meant', { global: false }, {}, [7, 0, 0]],
  ['that all calls are meant', { global: true }, { 'x-ratelimit-reset': '9' }, [7, 7, 7]],
  ['nothing, of a limit that has its own headers', { message: 'slow' }, { 'x-ratelimit-reset': '9' }, [7, 0, 0]],
  [
    'that all calls are not meant, where a header says that they are',
    { global: false },
    { 'x-ratelimit-global': 'true' },
    [7, 7, 7],
  ],
])('a 429 whose body tells %s', (_what, body, headers, left) => {
  expect(noted({ 'retry-after': '7', ...headers }, body).left).toEqual(left);
});

test('quiet ends when its time is over, and not before', () => {
  const { clock, quiet } = noted({ 'retry-after': '7' });
  clock.advance(6_999);
  expect(quiet.secondsLeft('inventory')).toBe(1);
  clock.advance(1);
  expect(quiet.secondsLeft('inventory')).toBe(0);
});

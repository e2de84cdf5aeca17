import { expect, test } from 'vitest';
import { readDuration, readTime } from './times.ts';

const NOW = 1_800_000_000;

test.each([
  ['90s', 90],
  ['30m', 1_800],
  ['1h', 3_600],
  ['14d', 1_209_600],
  ['2w', 1_209_600],
])('%s is a duration', (text, seconds) => {
  expect(readDuration(text)).toBe(seconds);
  expect(readTime(text, 'ago', NOW)).toBe(NOW - seconds);
  expect(readTime(text, 'ahead', NOW)).toBe(NOW + seconds);
});

test('absolute times are Unix seconds or dates, whatever the direction', () => {
  expect(readTime('1700000000', 'ago', NOW)).toBe(1_700_000_000);
  expect(readTime('2026-11-21', 'ahead', NOW)).toBe(Date.UTC(2026, 10, 21) / 1000);
  expect(readTime('2026-11-21T09:30:00Z', 'ago', NOW)).toBe(Date.UTC(2026, 10, 21, 9, 30) / 1000);
  expect(readTime('2026-11-21T09:30+02:00', 'ago', NOW)).toBe(Date.UTC(2026, 10, 21, 7, 30) / 1000);
});

test('a relative time before 1970 is 1970', () => {
  expect(readTime('999999999w', 'ago', NOW)).toBe(0);
});

test.each(['', 'h', '1 h', '-1h', '1.5h', '1y', 'yesterday', '2026-13-01', '2026-11-21T09:30', '1e9'])(
  '%j is not a time',
  (text) => {
    expect(readTime(text, 'ago', NOW)).toBeUndefined();
  },
);

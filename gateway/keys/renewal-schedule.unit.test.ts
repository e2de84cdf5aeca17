import { expect, test } from 'vitest';
import { Calendar } from './renewal-schedule.ts';

test('keys are taken once, not before their time and within a second after it', () => {
  const calendar = new Calendar(10);
  calendar.add('b', 10_500);
  calendar.add('a', 9_001);
  calendar.add('c', 10_000);
  expect(calendar.take(9_999)).toEqual([]);
  expect(calendar.take(10_000).toSorted()).toEqual(['a', 'c']);
  expect(calendar.take(10_999)).toEqual([]);
  expect(calendar.take(11_000)).toEqual(['b']);
  expect(calendar.take(99_000)).toEqual([]);
});

test('a clock that is set back by more than a note lies ahead brings all back', () => {
  const calendar = new Calendar(10);
  calendar.add('a', 9_000_000);
  expect(calendar.take(8_900_000)).toEqual([]);
  expect(calendar.take(1_000_000)).toEqual(['a']);
});

test('no more are noted than may be, and again when some were taken', () => {
  const calendar = new Calendar(2);
  for (const id of ['a', 'b', 'c']) calendar.add(id, 1_000);
  expect(calendar.take(1_000)).toEqual(['a', 'b']);
  calendar.add('c', 2_000);
  expect(calendar.take(2_000)).toEqual(['c']);
});

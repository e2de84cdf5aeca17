import { expect, test } from 'vitest';
import { RenewalSchedule } from './renewal-schedule.ts';

test('a key is taken once, at most a second after its time and never before it', () => {
  const schedule = new RenewalSchedule(10);
  schedule.add('b', 10_500);
  schedule.add('a', 9_001);
  schedule.add('c', 10_000);
  expect(schedule.take(9_999)).toEqual([]);
  expect(schedule.take(10_000).toSorted()).toEqual(['a', 'c']);
  expect(schedule.take(10_999)).toEqual([]);
  expect(schedule.take(11_000)).toEqual(['b']);
  expect(schedule.take(99_000)).toEqual([]);
});

test('after the clock was set back, keys too far ahead are due', () => {
  const schedule = new RenewalSchedule(10);
  schedule.add('a', 9_000_000);
  expect(schedule.take(8_900_000)).toEqual([]);
  expect(schedule.take(1_000_000)).toEqual(['a']);
});

test('at most max keys are scheduled, and taking keys makes room for others', () => {
  const schedule = new RenewalSchedule(2);
  for (const id of ['a', 'b', 'c']) schedule.add(id, 1_000);
  expect(schedule.take(1_000)).toEqual(['a', 'b']);
  schedule.add('c', 2_000);
  expect(schedule.take(2_000)).toEqual(['c']);
});

import { expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { KeyActivity } from './key-activity.ts';

test('lists the busiest and the most often rejected keys of the last minute, highest count first', () => {
  const clock = new ManualClock(1_000_000_000_000);
  const activity = new KeyActivity(clock);
  const count = (key: string, ...statuses: number[]) => statuses.forEach((status) => activity.count(key, status));
  count('a', 200, 200, 503);
  clock.advance(30_000);
  // 404 and 409 are results, and 499 is a client that disconnected.
  count('b', 403, 429, 404, 409, 499);
  count('a', 400);
  const a = { key_id: 'a', requests: 4, rejected: 1 };
  const b = { key_id: 'b', requests: 5, rejected: 2 };
  expect(activity.top()).toEqual({ window_seconds: 60, busiest: [b, a], rejected: [b, a] });
  clock.advance(30_000);
  expect(activity.top().busiest).toEqual([b, { key_id: 'a', requests: 1, rejected: 1 }]);
  clock.advance(60_000);
  expect(activity.top()).toEqual({ window_seconds: 60, busiest: [], rejected: [] });
});

test('counts at most 10,000 keys per slice and lists at most 100', () => {
  const clock = new ManualClock(1_000_000_000_000);
  const activity = new KeyActivity(clock);
  for (let key = 0; key < 20_000; key++) activity.count(String(key), 401);
  const { busiest, rejected } = activity.top();
  expect([busiest.length, rejected.length]).toEqual([100, 100]);
  activity.count('0', 200);
  expect(activity.top().busiest[0]).toEqual({ key_id: '0', requests: 2, rejected: 1 });
  activity.count('19999', 200);
  activity.count('19999', 200);
  activity.count('19999', 200);
  expect(activity.top().busiest[0]).toMatchObject({ key_id: '0' });
  clock.advance(10_000);
  activity.count('19999', 200);
  activity.count('19999', 200);
  activity.count('19999', 200);
  expect(activity.top().busiest[0]).toEqual({ key_id: '19999', requests: 3, rejected: 0 });
});

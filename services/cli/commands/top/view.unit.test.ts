import { expect, test } from 'vitest';
import type { Figures } from './figures.ts';
import { viewText } from './view.ts';

const idle: Figures = {
  requests_per_second: 0,
  errors_per_second: 0,
  p99_seconds: null,
  in_flight: null,
  event_loop_ratio: 0.011,
  pool: null,
  breakers_open: [],
  limited_per_second: null,
  limiter_degraded: null,
  key_cache_hit_ratio: null,
  key_stream_alive: null,
  waiting_polls: null,
  unacknowledged_commands: null,
  oldest_command_seconds: null,
  unfinished_jobs: null,
  faults: [],
};
const gateway: Figures = {
  ...idle,
  requests_per_second: 1234.5,
  errors_per_second: 0.25,
  p99_seconds: 0.0123,
  in_flight: 12,
  event_loop_ratio: 0.5,
  limited_per_second: 3,
  limiter_degraded: false,
  key_cache_hit_ratio: 0.987,
  key_stream_alive: true,
};
const activity: Figures = {
  ...idle,
  pool: { used: 5, waiting: 3, max: 5 },
  waiting_polls: 40,
  unacknowledged_commands: 2,
  oldest_command_seconds: 31,
};
const broken: Figures = {
  ...gateway,
  limiter_degraded: true,
  key_stream_alive: false,
  breakers_open: ['lookup (http)', 'bindings (http)', 'a dependency with a long name'],
  faults: ['no notifications on auth_keys'],
};
const process = (name: string, figures: Figures | null, reason: string | null = null) => ({
  name,
  address: 'http://127.0.0.1:1',
  figures,
  reason,
});
const key = (number: number, requests: number, rejected: number) => ({
  key_id: `9000000000000000${String(number).padStart(2, '0')}-1`,
  requests,
  rejected,
});

test('a view is a table of processes, and two tables of keys side by side', () => {
  const text = viewText({
    at: 1_800_000_000,
    processes: [process('gateway', gateway), process('activity', activity), process('lookup', null, 'no response')],
    keys: { busiest: [key(1, 120, 0), key(2, 7, 5)], rejected: [key(2, 7, 5)] },
  });
  expect(text).toBe(
    `
08:00:00 UTC

PROCESS   REQ/S  ERR/S  P99 MS  FLIGHT  LOOP  POOL    NOTES
gateway   1235   0.25   12.3    12      50%   -       limits exact, 429 3.00/s, key cache 99%
activity  0      0      -       -       1%    5/5 +3  2 unacknowledged, oldest 31.0 s, 40 polls
lookup    -      -      -       -       -     -       DOWN: no response

BUSIEST KEYS          REQ/MIN  REJECTED    MOST REJECTED KEYS    REQ/MIN  REJECTED
900000000000000001-1  120      0           900000000000000002-1  7        5
900000000000000002-1  7        5
`.trim(),
  );
});

test('problems come first, and no line is longer than 100 columns', () => {
  const text = viewText({ at: 0, processes: [process('gateway', broken)], keys: { busiest: [], rejected: [] } });
  const lines = text.split('\n');
  expect(lines[3]).toMatch(/ BREAKER lookup \(http\), BREAKER bindings .*…$/);
  expect(Math.max(...lines.map((line) => line.length))).toBe(100);
  expect(lines.at(-1)).toBe('No key was used in the last minute.');
});

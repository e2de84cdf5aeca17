import { expect, test } from 'vitest';
import { ApiError } from './errors.ts';
import { runPaced } from './paced.ts';

const START = 1_790_000_000_000;

/** A clock that only sleeping moves. */
function fakeClock() {
  const sleeps: number[] = [];
  let now = START;
  return {
    sleeps,
    clock: {
      now: () => now,
      sleep: (ms: number) => {
        sleeps.push(ms);
        now += ms;
        return Promise.resolve();
      },
    },
  };
}

const headersOf = (remaining: number, secondsLeft: number, aheadMs = 0) =>
  new Headers({
    date: new Date(START + aheadMs).toUTCString(),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String((START + aheadMs) / 1_000 + secondsLeft),
  });

test('waits for the next window when only the reserve of the rate limit is left, by the clock of the server', async () => {
  const { clock, sleeps } = fakeClock();
  const done: number[] = [];
  await runPaced({
    rows: [1, 2],
    work: (_, onHeaders) => Promise.resolve(onHeaders(headersOf(10, 30, 7_200_000))),
    onDone: (row) => done.push(row),
    signal: new AbortController().signal,
    clock,
  });
  expect(done).toEqual([1, 2]);
  expect(sleeps).toEqual([30_000]);
});

test('repeats a row that the rate limit rejected, and reports it once', async () => {
  const { clock, sleeps } = fakeClock();
  const results: string[] = [];
  let attempts = 0;
  await runPaced({
    rows: ['a'],
    work: (_, onHeaders) => {
      attempts += 1;
      onHeaders(headersOf(attempts === 1 ? 0 : 100, 12));
      return attempts === 1
        ? Promise.reject(new ApiError('RATE_LIMITED', { message: 'Rate limit exceeded', status: 429 }))
        : Promise.resolve();
    },
    onDone: (row, error) => results.push(`${row} ${error?.code}`),
    signal: new AbortController().signal,
    clock,
  });
  expect(results).toEqual(['a undefined']);
  expect(sleeps).toEqual([12_000]);
});

test('a row that fails is reported, and the others follow', async () => {
  const results: string[] = [];
  await runPaced({
    rows: ['a', 'b'],
    work: (row) =>
      row === 'a' ? Promise.reject(new ApiError('QUOTA_EXCEEDED', { message: 'full' })) : Promise.resolve(),
    onDone: (row, error) => results.push(`${row} ${error?.code}`),
    signal: new AbortController().signal,
    clock: fakeClock().clock,
  });
  expect(results).toEqual(['a QUOTA_EXCEEDED', 'b undefined']);
});

test('starts no further row after it was stopped', async () => {
  const stopper = new AbortController();
  const started: number[] = [];
  await runPaced({
    rows: [1, 2, 3],
    work: (row) => {
      started.push(row);
      if (row === 2) stopper.abort();
      return Promise.resolve();
    },
    onDone: () => undefined,
    signal: stopper.signal,
    clock: fakeClock().clock,
  });
  expect(started).toEqual([1, 2]);
});

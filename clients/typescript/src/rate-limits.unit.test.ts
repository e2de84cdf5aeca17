import { expect, test } from 'vitest';
import { manualRuntime } from '../fixture.ts';
import type { Operation } from './operation.ts';
import { RateLimits } from './rate-limits.ts';

// Twenty seconds into a minute.
const START = 1_780_000_020_000 - (1_780_000_020_000 % 60_000) + 20_000;
const lookup: Operation = {
  name: 'getLinkByGameId',
  method: 'GET',
  path: '/',
  guild: 'none',
  hasBody: false,
  writes: false,
  limit: { category: 'lookup', requests: 60 },
};
const { limit: _, ...whoami } = lookup;

const headersOf = (limit: number, remaining: number, resetMs: number, dateMs?: number) =>
  new Headers({
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(resetMs / 1_000),
    ...(dateMs !== undefined && { date: new Date(dateMs).toUTCString() }),
  });

const takeMany = (limits: RateLimits, operation: Operation, count: number) =>
  Array.from({ length: count }, () => limits.take(operation));

test('a category is known before the first response: the request above its limit waits for the next minute', () => {
  const limits = new RateLimits({ ...manualRuntime(START), random: () => 0 });
  const waits = takeMany(limits, lookup, 61);
  expect(waits.slice(0, 60)).toEqual(Array(60).fill(0));
  expect(waits[60]).toBe(40_000);
});

test('the next window is full again', async () => {
  const runtime = manualRuntime(START);
  const limits = new RateLimits(runtime);
  takeMany(limits, lookup, 60);
  await runtime.sleep(limits.take(lookup));
  expect(takeMany(limits, lookup, 60)).toEqual(Array(60).fill(0));
  expect(limits.take(lookup)).toBeGreaterThan(0);
});

test('the headers count the requests of others, and an older response does not raise the number', () => {
  const limits = new RateLimits(manualRuntime(START));
  limits.take(lookup);
  limits.observe(lookup, headersOf(60, 2, START + 40_000), undefined);
  limits.observe(lookup, headersOf(60, 30, START + 40_000), undefined);
  expect(takeMany(limits, lookup, 3).map((wait) => wait > 0)).toEqual([false, false, true]);
});

test('headers of an earlier window are ignored', () => {
  const limits = new RateLimits(manualRuntime(START));
  limits.observe(lookup, headersOf(60, 0, START - 20_000), undefined);
  expect(limits.take(lookup)).toBe(0);
});

test('the end of a window follows the clock of the server', () => {
  const limits = new RateLimits({ ...manualRuntime(START), random: () => 0 });
  const ahead = 300_000;
  limits.observe(lookup, headersOf(60, 0, START + ahead + 40_000, START + ahead), undefined);
  expect(limits.take(lookup)).toBe(40_000);
});

test('the limit of the key delays all operations, also those without a category', () => {
  const limits = new RateLimits(manualRuntime(START));
  limits.observe(lookup, headersOf(5, 0, START + 40_000), 'api_key');
  expect([limits.take(lookup) > 0, limits.take(whoami) > 0]).toEqual([true, true]);
  const others = new RateLimits(manualRuntime(START));
  others.observe(whoami, headersOf(5, 0, START + 40_000), undefined);
  expect(others.take(lookup)).toBeGreaterThan(0);
});

test('responses without the headers change nothing', () => {
  const limits = new RateLimits(manualRuntime(START));
  limits.observe(lookup, new Headers({ 'x-ratelimit-remaining': '0' }), undefined);
  limits.observe(lookup, headersOf(60, Number.NaN, START + 40_000), undefined);
  expect(limits.take(lookup)).toBe(0);
});

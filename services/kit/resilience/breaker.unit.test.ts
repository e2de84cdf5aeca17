import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { ApiError } from '../errors.ts';
import { isGrpcFailure } from '../grpc/client.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { Breakers, InconclusiveError } from './breaker.ts';

const metrics = new Metrics();
let breakers: Breakers;
const down = () => Promise.reject(new ApiError('UNAVAILABLE'));
const rejected = () => Promise.reject(new ApiError('NOT_FOUND'));
const fine = async () => 'fine';

beforeEach(() => {
  vi.useFakeTimers();
  breakers = new Breakers(new Metrics());
});

afterEach(() => {
  breakers.stop();
  vi.useRealTimers();
});

async function fail(breaker: ReturnType<Breakers['create']>, times: number, how = down) {
  for (let time = 0; time < times; time++) await expect(breaker.run(how)).rejects.toThrow(ApiError);
}

test('a dependency that keeps failing is not called for a second, then tried with a single call', async () => {
  const breaker = breakers.create('auth', isGrpcFailure);
  await fail(breaker, 9);
  expect(breaker.isOpen).toBe(false);
  await fail(breaker, 1);
  expect(breaker.isOpen).toBe(true);
  const action = vi.fn<typeof fine>(fine);
  await expect(breaker.run(action)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
  await vi.advanceTimersByTimeAsync(999);
  await expect(breaker.run(action)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(action).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  const both = await Promise.allSettled([breaker.run(action), breaker.run(action)]);
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(breaker.isOpen).toBe(false);
  expect(await breaker.run(action)).toBe('fine');
});

test('successes count: the breaker opens only if more than half of the calls fail', async () => {
  const breaker = breakers.create('auth', isGrpcFailure);
  for (let time = 0; time < 20; time++) expect(await breaker.run(fine)).toBe('fine');
  await fail(breaker, 20);
  expect(breaker.isOpen).toBe(false);
  await fail(breaker, 1);
  expect(breaker.isOpen).toBe(true);
});

test('with a probe, no call is used as a trial: the probe runs in the background until the dependency responds', async () => {
  const breaker = breakers.create('auth', isGrpcFailure);
  let isBack = false;
  const probe = vi.fn<() => Promise<void>>(async () => {
    // NOT_FOUND counts as a success for a normal call, but as a failure for a probe.
    if (!isBack) throw new ApiError('NOT_FOUND');
  });
  const changes: boolean[] = [];
  breaker.probeWith(probe);
  breaker.onChange((isOpen) => changes.push(isOpen));
  await fail(breaker, 10);
  const action = vi.fn<typeof fine>(fine);
  for (let second = 0; second < 30; second++) {
    await vi.advanceTimersByTimeAsync(1_000);
    await expect(breaker.run(action)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
  }
  expect(action).not.toHaveBeenCalled();
  // One probe every 1 to 1.5 s.
  expect(probe.mock.calls.length).toBeGreaterThanOrEqual(19);
  expect(probe.mock.calls.length).toBeLessThanOrEqual(30);
  isBack = true;
  await vi.advanceTimersByTimeAsync(1_500);
  expect(breaker.isOpen).toBe(false);
  expect([changes[0], changes.at(-1)]).toEqual([true, false]);
  expect(await breaker.run(action)).toBe('fine');
});

test('an inconclusive call does not open the breaker, and as a trial does not close it', async () => {
  const breaker = breakers.create('auth', isGrpcFailure);
  const disconnected = () => Promise.reject(new InconclusiveError('the client has disconnected'));
  for (let time = 0; time < 50; time++) await expect(breaker.run(disconnected)).rejects.toThrow(InconclusiveError);
  expect(breaker.isOpen).toBe(false);
  await fail(breaker, 60);
  await vi.advanceTimersByTimeAsync(1_000);
  await expect(breaker.run(disconnected)).rejects.toThrow(InconclusiveError);
  await expect(breaker.run(fine)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test.each([
  ['before the open time has ended', 999],
  ['while a probe is delayed by its jitter', 1_000],
])('a breaker that is stopped %s sends no probe', async (_when, openMs) => {
  const breaker = breakers.create('auth', isGrpcFailure);
  const probe = vi.fn<() => Promise<void>>(() => Promise.reject(new Error('down')));
  // Each probe is delayed by half of the maximum.
  const random = vi.spyOn(Math, 'random').mockReturnValue(0.5);
  onTestFinished(() => random.mockRestore());
  breaker.probeWith(probe);
  await fail(breaker, 10);
  await vi.advanceTimersByTimeAsync(openMs);
  breaker.stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(probe).not.toHaveBeenCalled();
});

test('a call that started before the breaker opened and ends afterwards is not taken for the trial call', async () => {
  const breaker = breakers.create('auth', isGrpcFailure);
  const [failing, succeeding] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const early = [failing, succeeding].map(({ promise }) => breaker.run(() => promise));
  await fail(breaker, 10);
  await vi.advanceTimersByTimeAsync(1_000);
  failing.reject(new ApiError('UNAVAILABLE'));
  succeeding.resolve('late');
  expect(await Promise.allSettled(early)).toMatchObject([{ reason: { code: 'UNAVAILABLE' } }, { value: 'late' }]);
  expect(breaker.isOpen).toBe(true);
  expect(await breaker.run(fine)).toBe('fine');
  expect(breaker.isOpen).toBe(false);
});

test('ordinary rejections are passed on, do not open the breaker, and close it as a trial', async () => {
  const breaker = breakers.create('auth', isGrpcFailure);
  await fail(breaker, 50, rejected);
  expect(breaker.isOpen).toBe(false);
  await fail(breaker, 60);
  expect(breaker.isOpen).toBe(true);
  await vi.advanceTimersByTimeAsync(1_000);
  await expect(breaker.run(rejected)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(breaker.isOpen).toBe(false);
});

test('failures of one dependency do not affect another, and breaker_open reports each of them', async () => {
  vi.useRealTimers();
  const own = new Breakers(metrics);
  const [lookup, auth] = [own.create('lookup', isGrpcFailure), own.create('auth', isGrpcFailure)];
  await fail(lookup, 10);
  expect(await auth.run(fine)).toBe('fine');
  const text = await metrics.registry.getSingleMetricAsString('breaker_open');
  expect(text).toContain('breaker_open{dependency="lookup"} 1');
  expect(text).toContain('breaker_open{dependency="auth"} 0');
  own.stop();
});

test('a stopped breaker rejects calls with UNAVAILABLE', async () => {
  const breaker = breakers.create('auth', isGrpcFailure);
  breaker.stop();
  await expect(breaker.run(fine)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

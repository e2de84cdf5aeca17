import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ApiError } from '../errors.ts';
import { isGrpcFailure } from '../grpc/client.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { Breakers, Inconclusive } from './breaker.ts';

const metrics = new Metrics();
let breakers: Breakers;
const down = () => Promise.reject(new ApiError('UNAVAILABLE'));
const refused = () => Promise.reject(new ApiError('NOT_FOUND'));
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

test('a dependency that keeps failing is left alone for 2 s, then tried with one call', async () => {
  const breaker = breakers.create('auth', isGrpcFailure);
  await fail(breaker, 9);
  expect(breaker.isOpen).toBe(false);
  await fail(breaker, 1);
  expect(breaker.isOpen).toBe(true);
  const action = vi.fn<typeof fine>(fine);
  await expect(breaker.run(action)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
  expect(action).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(2_000);
  const both = await Promise.allSettled([breaker.run(action), breaker.run(action)]);
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(breaker.isOpen).toBe(false);
  expect(await breaker.run(action)).toBe('fine');
});

test('successes count: only when more than half of the calls fail is a dependency left alone', async () => {
  const breaker = breakers.create('auth', isGrpcFailure);
  for (let time = 0; time < 20; time++) expect(await breaker.run(fine)).toBe('fine');
  await fail(breaker, 20);
  expect(breaker.isOpen).toBe(false);
  await fail(breaker, 1);
  expect(breaker.isOpen).toBe(true);
});

test('with a probe, no call is a trial: the probe runs in the background until the dependency responds', async () => {
  const breaker = breakers.create('auth', isGrpcFailure);
  let isBack = false;
  const probe = vi.fn<() => Promise<void>>(async () => {
    // Not even a rejection by the dependency, which would close a breaker that a call tries.
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
  // Every two to three seconds.
  expect(probe.mock.calls.length).toBeGreaterThanOrEqual(9);
  expect(probe.mock.calls.length).toBeLessThanOrEqual(15);
  isBack = true;
  await vi.advanceTimersByTimeAsync(3_000);
  expect(breaker.isOpen).toBe(false);
  expect([changes[0], changes.at(-1)]).toEqual([true, false]);
  expect(await breaker.run(action)).toBe('fine');
});

test('a call without an outcome neither opens a breaker nor closes one that it tries', async () => {
  const breaker = breakers.create('auth', isGrpcFailure);
  const gone = () => Promise.reject(new Inconclusive('the caller has gone'));
  for (let time = 0; time < 50; time++) await expect(breaker.run(gone)).rejects.toThrow(Inconclusive);
  expect(breaker.isOpen).toBe(false);
  await fail(breaker, 60);
  await vi.advanceTimersByTimeAsync(2_000);
  await expect(breaker.run(gone)).rejects.toThrow(Inconclusive);
  await expect(breaker.run(fine)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('a breaker that was stopped probes no more', async () => {
  const breaker = breakers.create('auth', isGrpcFailure);
  const probe = vi.fn<() => Promise<void>>(() => Promise.reject(new Error('down')));
  breaker.probeWith(probe);
  await fail(breaker, 10);
  await vi.advanceTimersByTimeAsync(2_000);
  breaker.stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(probe.mock.calls.length).toBeLessThanOrEqual(1);
});

test('what began before the breaker opened and ends after it is not taken for the call that tries', async () => {
  const breaker = breakers.create('auth', isGrpcFailure);
  const [failing, succeeding] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const early = [failing, succeeding].map(({ promise }) => breaker.run(() => promise));
  await fail(breaker, 10);
  await vi.advanceTimersByTimeAsync(2_000);
  failing.reject(new ApiError('UNAVAILABLE'));
  succeeding.resolve('late');
  expect(await Promise.allSettled(early)).toMatchObject([{ reason: { code: 'UNAVAILABLE' } }, { value: 'late' }]);
  expect(breaker.isOpen).toBe(true);
  expect(await breaker.run(fine)).toBe('fine');
  expect(breaker.isOpen).toBe(false);
});

test('refusals pass as they are, do not open a breaker, and close one that is tried', async () => {
  const breaker = breakers.create('auth', isGrpcFailure);
  await fail(breaker, 50, refused);
  expect(breaker.isOpen).toBe(false);
  await fail(breaker, 60);
  expect(breaker.isOpen).toBe(true);
  await vi.advanceTimersByTimeAsync(2_000);
  await expect(breaker.run(refused)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(breaker.isOpen).toBe(false);
});

test('failures of one dependency do not touch another, and breaker_open tells them apart', async () => {
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

test('a breaker that was stopped refuses as unavailable', async () => {
  const breaker = breakers.create('auth', isGrpcFailure);
  breaker.stop();
  await expect(breaker.run(fine)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { amount, WAITING_TOGETHER, withinBound } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import { seededRandom } from '#test/random.ts';
import { soon } from '#test/soon.ts';
import { type Gateways, REPLICAS, type Sample, startGateways } from './fixtures/gateways.ts';
import { expectBounded, expectExact, expectShares, expectTrueWindows, windowOf } from './fixtures/oracle.ts';
import { aroundEdge, startTraffic } from './fixtures/traffic.ts';

/** A way in which Redis becomes unavailable. `end` makes Redis available again. */
export interface Fault {
  name: string;
  begin(): Promise<void>;
  end(): Promise<void>;
  /** True if Redis recovers by itself, as soon as the gateways have reconnected. */
  endsItself?: boolean;
}

export interface RedisUnderTest {
  url: string;
  faults: Fault[];
  stop(): Promise<void>;
}

export const GUILDS = ['900000000000000001', '900000000000000002', '900000000000000003', '900000000000000004'];
const WINDOW_MS = 1_000;
const OUTAGE_MS = 3_400;
/** The time in which gateways open their circuit breakers on a busy machine, in milliseconds. */
const SETTLING_MS = 1_000;
const LIMIT = 20;
const WAITING_MS = 60;
const SOON_MS = 5;
const RECOVERY_MS = 10_000;

/**
 * Tests the guarantees of three gateways with one Redis, Sentinel or Cluster, which `start` starts for each test.
 * `faults` names the faults of that Redis in order.
 */
export function replicasSuite(name: string, faults: readonly string[], start: () => Promise<RedisUnderTest>): void {
  // The many processes of a Cluster would take the CPU from each other.
  describe(`three gateways and ${name}`, name.includes('Cluster') ? {} : WAITING_TOGETHER, () => {
    const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1e9);

    test('around the ends of windows exactly the limit is allowed', { timeout: 400_000 }, async () => {
      const windowMs = 400;
      // The timeout is long, so that no gateway on a busy machine decides without Redis, which is the subject of other
      // tests.
      await withGateways(start, { windowMs, decisionMs: 1_000 }, async (gateways) => {
        const random = seededRandom(seed);
        const schedules = amount(10, 300);
        let requests = 0;
        for (let schedule = 0; schedule < schedules; schedule += 1) {
          const samples = await aroundEdge(gateways, random, { windowMs, guilds: GUILDS });
          expect(samples.filter(({ decision }) => decision.mode !== 'exact')).toEqual([]);
          expectTrueWindows(samples, windowMs);
          expectExact(samples, windowMs);
          requests += samples.length;
        }
        printFigure(
          `${name}: requests around ${schedules} ends of windows, seed ${seed}, wrongly allowed or rejected`,
          `0 of ${requests}`,
        );
      });
    });

    test.for(faults.map((fault, index) => [fault, index] as const))(
      '%s: no request waits for Redis, each gateway allows its share, and limits are exact after the recovery',
      { timeout: 60_000 },
      ([faultName, index]) =>
        withGateways(start, { windowMs: WINDOW_MS }, async (gateways, redis) => {
          const fault = redis.faults[index];
          expect(fault?.name).toBe(faultName);
          if (!fault) return;
          const outage = await during(fault, gateways, seededRandom(seed));
          report(`${name}, ${fault.name}`, fault, outage);
        }),
    );
  });
}

/** Starts a Redis and the gateways that use it, waits until they decide exactly, and stops all of them after the work. */
async function withGateways(
  start: () => Promise<RedisUnderTest>,
  options: Parameters<typeof startGateways>[1],
  work: (gateways: Gateways, redis: RedisUnderTest) => Promise<void>,
): Promise<void> {
  const redis = await start();
  const gateways = startGateways(redis.url, options);
  try {
    await untilExact(gateways);
    await work(gateways, redis);
  } finally {
    await gateways.stop();
    await redis.stop();
  }
}

interface Outage {
  samples: Sample[];
  /**
   * The start of the traffic, the start and end of the fault, the recovery of all gateways, and the end of the traffic,
   * by performance.now().
   */
  startedAt: number;
  beganAt: number;
  endedAt: number;
  exactAt: number;
  stoppedAt: number;
}

/** Sends traffic before, during and after a fault of Redis. */
async function during(fault: Fault, gateways: Gateways, random: () => number): Promise<Outage> {
  const startedAt = performance.now();
  const traffic = startTraffic(gateways, random, { guilds: GUILDS, limit: LIMIT });
  try {
    await pause(2.5 * WINDOW_MS);
    const beganAt = performance.now();
    await fault.begin();
    if (!fault.endsItself) await untilDegraded(gateways, 1).then(() => pause(OUTAGE_MS));
    const endedAt = performance.now();
    await fault.end();
    await untilDegraded(gateways, 0);
    const exactAt = performance.now();
    await pause(2.5 * WINDOW_MS);
    const stoppedAt = performance.now();
    await traffic.stop();
    return { samples: traffic.samples, startedAt, beganAt, endedAt, exactAt, stoppedAt };
  } finally {
    await traffic.stop();
  }
}

/** Waits until the gauge of every gateway shows that its rate limiter is degraded (1), or is not (0). */
async function untilDegraded(gateways: Gateways, value: 0 | 1): Promise<void> {
  await soon(async () => expect(await gateways.degraded()).toEqual(Array(REPLICAS).fill(value)), 20);
}

function report(name: string, fault: Fault, outage: Outage): void {
  const { samples, startedAt, beganAt, endedAt, exactAt, stoppedAt } = outage;
  const begun = (from: number, to: number) => samples.filter(({ startedAt }) => startedAt >= from && startedAt < to);
  const first = begun(beganAt, beganAt + 1_000);
  const later = begun(beganAt + 1_000, fault.endsItself ? exactAt : endedAt);
  const recovery = begun(endedAt, exactAt);
  p99Within(`${name}: p99 of a decision in the first second`, first, WAITING_MS);
  p99Within(`${name}: p99 of a decision after it`, later, SOON_MS);
  p99Within(`${name}: p99 of a decision until all gateways are back`, recovery, WAITING_MS);
  printFigure(`${name}: the longest decision`, `${percentile(samples, 1).toFixed(0)} ms`);
  withinBound(`${name}: exact again after`, exactAt - endedAt, RECOVERY_MS);

  expectTrueWindows(samples, WINDOW_MS);
  expectBounded(samples, WINDOW_MS);
  const exact = [...wholeWindows(samples, startedAt, beganAt), ...wholeWindows(samples, exactAt, stoppedAt)];
  expect(exact.length).toBeGreaterThan(0);
  for (const window of exact) expectExactUnlessTimedOut(window);
  if (fault.endsItself) return;
  const degraded = wholeWindows(samples, beganAt + SETTLING_MS, endedAt);
  expect(degraded.length).toBeGreaterThan(0);
  for (const window of degraded) {
    expect(window.filter(({ decision }) => decision.mode !== 'degraded')).toEqual([]);
    expectShares(window, WINDOW_MS);
  }
}

/**
 * Checks that the 99th percentile of the decision times is within a limit. Skipped without samples, because a fault may
 * be over before the first request.
 */
function p99Within(name: string, samples: readonly Sample[], boundMs: number): void {
  if (samples.length > 0) withinBound(name, percentile(samples, 0.99), boundMs);
}

/** Expects exact rate limits in a window without timeouts. On a busy machine single requests may time out. */
function expectExactUnlessTimedOut(window: Sample[]): void {
  const without = window.filter(({ decision }) => decision.mode === 'degraded');
  if (without.length === 0) expectExact(window, WINDOW_MS);
  else printFigure('a window in which the machine was too slow for single requests', without.length);
}

/** Returns the samples of each window that lies between two times of performance.now(). */
function wholeWindows(samples: readonly Sample[], from: number, to: number): Sample[][] {
  const windows = new Map<number, Sample[]>();
  for (const sample of samples) {
    const window = windowOf(sample, WINDOW_MS);
    windows.set(window, [...(windows.get(window) ?? []), sample]);
  }
  const toPerformance = (unix: number) => unix - performance.timeOrigin;
  const isWithin = (window: number) =>
    toPerformance(window * WINDOW_MS) >= from && toPerformance((window + 1) * WINDOW_MS) <= to;
  const complete = [...windows.entries()].filter(([window]) => isWithin(window));
  return complete.map(([, list]) => list);
}

/** Returns a percentile of the decision times of the samples, in milliseconds. */
export function percentile(samples: readonly Sample[], share: number): number {
  const sorted = samples.map(({ ms }) => ms).toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Waits until every gateway decides exactly, with Redis, for every guild. */
export async function untilExact(gateways: Gateways): Promise<void> {
  for (const guild of GUILDS) {
    for (const index of gateways.limiters.keys()) {
      const mode = async () => {
        const limit = { category: 'lookup', limit: 1e6, subject: 'probe' } as const;
        return (await gateways.decide(index, guild, [limit])).decision.mode;
      };
      await soon(async () => expect(await mode()).toBe('exact'), 20);
    }
  }
}

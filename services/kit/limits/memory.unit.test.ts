import { describe, expect, test } from 'vitest';
import { ManualClock } from '../clock.ts';
import type { Limit } from './limiter.ts';
import { limiterSuite } from './limits.suite.ts';
import { MemoryLimiter, rejectExhausted } from './memory.ts';

const GUILD = '900000000000000001';
const WINDOW_MS = 60_000;
const lookup = (limit: number, subject = GUILD): Limit => ({ category: 'lookup', limit, subject });

function countAllowed(limiter: MemoryLimiter, limit: Limit, times: number): number {
  return Array.from({ length: times }, () => limiter.decide(GUILD, [limit])).filter(({ allowed }) => allowed).length;
}

limiterSuite('memory', async () => new MemoryLimiter({ clock: new ManualClock() }));

describe('memory limiter', () => {
  test('windows are aligned to the clock, and a new one starts at 0', () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1) + 45_000);
    const limiter = new MemoryLimiter({ clock });
    expect(limiter.decide(GUILD, [lookup(1)]).states[0]?.resetMs).toBe(15_000);
    clock.advance(14_999);
    expect(limiter.decide(GUILD, [lookup(1)])).toMatchObject({ allowed: false, states: [{ resetMs: 1 }] });
    clock.advance(1);
    expect(limiter.decide(GUILD, [lookup(1)])).toMatchObject({ allowed: true, states: [{ resetMs: WINDOW_MS }] });
  });

  test('a clock that is set back across the end of a window does not restart that window', () => {
    const clock = new ManualClock();
    const limiter = new MemoryLimiter({ clock });
    expect(countAllowed(limiter, lookup(1), 1)).toBe(1);
    clock.advance(-1);
    expect(countAllowed(limiter, lookup(1), 1)).toBe(0);
    clock.advance(1);
    expect(countAllowed(limiter, lookup(1), 1)).toBe(0);
  });

  test('each of several replicas allows its share of a limit, rounded up', () => {
    const limiter = new MemoryLimiter({ clock: new ManualClock(), replicas: 4 });
    expect(countAllowed(limiter, lookup(30), 40)).toBe(8);
    expect(limiter.decide(GUILD, [lookup(30)])).toMatchObject({ mode: 'degraded', allowed: false });
  });

  test('above the maximum the subjects of a category share a count: none gets more than its limit', () => {
    const clock = new ManualClock();
    const limiter = new MemoryLimiter({ clock, maxSubjects: 2 });
    expect(countAllowed(limiter, lookup(3, 'a'), 2)).toBe(2);
    expect(countAllowed(limiter, lookup(3, 'b'), 5)).toBe(3);
    expect(countAllowed(limiter, lookup(3, 'c'), 2)).toBe(2);
    expect(countAllowed(limiter, lookup(3, 'd'), 5)).toBe(1);
    expect(countAllowed(limiter, lookup(3, 'a'), 5)).toBe(1);
    clock.advance(WINDOW_MS);
    expect(countAllowed(limiter, lookup(3, 'd'), 5)).toBe(3);
  });

  test('above the maximum the count of one subject in Redis rejects no other subject', () => {
    const clock = new ManualClock();
    const limiter = new MemoryLimiter({ clock, maxSubjects: 1 });
    for (const subject of ['a', 'b']) learnCount(limiter, clock, lookup(3, subject), 3);
    expect(rejectExhausted([lookup(3, 'a')], limiter.snapshot(GUILD, [lookup(3, 'a')]))).toBeDefined();
    expect(rejectExhausted([lookup(3, 'c')], limiter.snapshot(GUILD, [lookup(3, 'c')]))).toBeUndefined();
  });
});

/** As if Redis had returned this count. */
function learnCount(limiter: MemoryLimiter, clock: ManualClock, limit: Limit, count: number, skewMs = 0): void {
  const now = clock.now() + skewMs;
  const window = Math.floor(now / WINDOW_MS);
  const resetMs = (window + 1) * WINDOW_MS - now;
  const sent = limiter.snapshot(GUILD, [limit]);
  limiter.learn(GUILD, [limit], sent, { allowed: true, isLate: false, window, resetMs, counts: [count] });
}

describe('memory limiter with Redis', () => {
  test('continues from the count in Redis: replicas together allow the rest', () => {
    const clock = new ManualClock();
    const alone = new MemoryLimiter({ clock });
    learnCount(alone, clock, lookup(60), 50);
    expect(countAllowed(alone, lookup(60), 60)).toBe(10);
    const shared = new MemoryLimiter({ clock, replicas: 2 });
    learnCount(shared, clock, lookup(60), 50);
    expect(countAllowed(shared, lookup(60), 60)).toBe(5);
  });

  test('reports once to Redis what was allowed without it, as if each replica had allowed as much', () => {
    const clock = new ManualClock();
    const limiter = new MemoryLimiter({ clock, replicas: 2 });
    learnCount(limiter, clock, lookup(60), 10);
    countAllowed(limiter, lookup(60), 3);
    expect(limiter.snapshot(GUILD, [lookup(60)]).known).toEqual([16]);
    learnCount(limiter, clock, lookup(60), 17);
    expect(limiter.snapshot(GUILD, [lookup(60)]).known).toEqual([17]);
    expect(countAllowed(limiter, lookup(60), 60)).toBe(22);
  });

  test('requests that are allowed during a call to Redis are reported with the next call', () => {
    const clock = new ManualClock();
    const limiter = new MemoryLimiter({ clock });
    const limits = [lookup(60)];
    countAllowed(limiter, lookup(60), 3);
    const sent = limiter.snapshot(GUILD, limits);
    countAllowed(limiter, lookup(60), 2);
    const window = Math.floor(clock.now() / WINDOW_MS);
    limiter.learn(GUILD, limits, sent, { allowed: true, isLate: false, window, resetMs: WINDOW_MS, counts: [4] });
    expect(limiter.snapshot(GUILD, limits).known).toEqual([6]);
  });

  test('rejects without a call what Redis reported as exhausted, until the window ends by the clock of Redis', () => {
    const clock = new ManualClock();
    const limiter = new MemoryLimiter({ clock });
    const rejected = () => rejectExhausted([lookup(60)], limiter.snapshot(GUILD, [lookup(60)]));
    expect(rejected()).toBeUndefined();
    learnCount(limiter, clock, lookup(60), 60, 20_000);
    expect(rejected()).toMatchObject({ allowed: false, mode: 'exact', rejectedBy: { remaining: 0, resetMs: 39_999 } });
    // Clocks have a resolution of 1 ms: a window may be seen to end 1 ms early, never late.
    clock.advance(39_998);
    expect(rejected()).toBeDefined();
    clock.advance(1);
    expect(rejected()).toBeUndefined();
  });

  test('a reply about a window that has ended changes nothing', () => {
    const clock = new ManualClock();
    const limiter = new MemoryLimiter({ clock });
    const limits = [lookup(60)];
    const sent = limiter.snapshot(GUILD, limits);
    const window = Math.floor(clock.now() / WINDOW_MS);
    learnCount(limiter, clock, lookup(60), 1, WINDOW_MS);
    limiter.learn(GUILD, limits, sent, { allowed: true, isLate: false, window, resetMs: 1, counts: [59] });
    expect(limiter.snapshot(GUILD, limits)).toMatchObject({ window: window + 1, known: [1] });
  });
});

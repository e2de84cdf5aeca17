import { describe, expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import type { Limit } from './limiter.ts';
import { limiterSuite } from './limits.suite.ts';
import { MemoryLimiter, refuseExhausted } from './memory.ts';

const GUILD = '900000000000000001';
const WINDOW_MS = 60_000;
const lookup = (limit: number, subject = GUILD): Limit => ({ category: 'lookup', limit, subject });

function passed(limiter: MemoryLimiter, limit: Limit, times: number): number {
  return Array.from({ length: times }, () => limiter.decide(GUILD, [limit])).filter(({ allowed }) => allowed).length;
}

limiterSuite('memory', async () => new MemoryLimiter({ clock: new ManualClock() }));

describe('memory limiter', () => {
  test('windows are aligned to the clock, and a new one starts from nothing', () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1) + 45_000);
    const limiter = new MemoryLimiter({ clock });
    expect(limiter.decide(GUILD, [lookup(1)]).states[0]?.resetMs).toBe(15_000);
    clock.advance(14_999);
    expect(limiter.decide(GUILD, [lookup(1)])).toMatchObject({ allowed: false, states: [{ resetMs: 1 }] });
    clock.advance(1);
    expect(limiter.decide(GUILD, [lookup(1)])).toMatchObject({ allowed: true, states: [{ resetMs: WINDOW_MS }] });
  });

  test('a clock that is set back by a moment brings no second fresh window', () => {
    const clock = new ManualClock();
    const limiter = new MemoryLimiter({ clock });
    expect(passed(limiter, lookup(1), 1)).toBe(1);
    clock.advance(-1);
    expect(passed(limiter, lookup(1), 1)).toBe(0);
    clock.advance(1);
    expect(passed(limiter, lookup(1), 1)).toBe(0);
  });

  test('several replicas share a limit, rounded up', () => {
    const limiter = new MemoryLimiter({ clock: new ManualClock(), replicas: 4 });
    expect(passed(limiter, lookup(30), 40)).toBe(8);
    expect(limiter.decide(GUILD, [lookup(30)])).toMatchObject({ mode: 'degraded', allowed: false });
  });

  test('beyond the bound subjects of a category share a count: none gets more than its limit', () => {
    const clock = new ManualClock();
    const limiter = new MemoryLimiter({ clock, maxSubjects: 2 });
    expect(passed(limiter, lookup(3, 'a'), 2)).toBe(2);
    expect(passed(limiter, lookup(3, 'b'), 5)).toBe(3);
    expect(passed(limiter, lookup(3, 'c'), 2)).toBe(2);
    expect(passed(limiter, lookup(3, 'd'), 5)).toBe(1);
    expect(passed(limiter, lookup(3, 'a'), 5)).toBe(1);
    clock.advance(WINDOW_MS);
    expect(passed(limiter, lookup(3, 'd'), 5)).toBe(3);
  });

  test('beyond the bound what Redis tells of one subject refuses no other', () => {
    const clock = new ManualClock();
    const limiter = new MemoryLimiter({ clock, maxSubjects: 1 });
    for (const subject of ['a', 'b']) tell(limiter, clock, lookup(3, subject), 3);
    expect(refuseExhausted([lookup(3, 'a')], limiter.snapshot(GUILD, [lookup(3, 'a')]))).toBeDefined();
    expect(refuseExhausted([lookup(3, 'c')], limiter.snapshot(GUILD, [lookup(3, 'c')]))).toBeUndefined();
  });
});

/** As if Redis had answered that so many have passed. */
function tell(limiter: MemoryLimiter, clock: ManualClock, limit: Limit, count: number, skewMs = 0): void {
  const now = clock.now() + skewMs;
  const window = Math.floor(now / WINDOW_MS);
  const resetMs = (window + 1) * WINDOW_MS - now;
  const asked = limiter.snapshot(GUILD, [limit]);
  limiter.learn(GUILD, [limit], asked, { allowed: true, isLate: false, window, resetMs, counts: [count] });
}

describe('memory limiter beside Redis', () => {
  test('goes on from what Redis told: replicas together let through what was left', () => {
    const clock = new ManualClock();
    const alone = new MemoryLimiter({ clock });
    tell(alone, clock, lookup(60), 50);
    expect(passed(alone, lookup(60), 60)).toBe(10);
    const shared = new MemoryLimiter({ clock, replicas: 2 });
    tell(shared, clock, lookup(60), 50);
    expect(passed(shared, lookup(60), 60)).toBe(5);
  });

  test('tells Redis what was let through without it, once, as if each replica had done the same', () => {
    const clock = new ManualClock();
    const limiter = new MemoryLimiter({ clock, replicas: 2 });
    tell(limiter, clock, lookup(60), 10);
    passed(limiter, lookup(60), 3);
    expect(limiter.snapshot(GUILD, [lookup(60)]).known).toEqual([16]);
    tell(limiter, clock, lookup(60), 17);
    expect(limiter.snapshot(GUILD, [lookup(60)]).known).toEqual([17]);
    expect(passed(limiter, lookup(60), 60)).toBe(22);
  });

  test('what is let through while Redis is being told stays to be told', () => {
    const clock = new ManualClock();
    const limiter = new MemoryLimiter({ clock });
    const limits = [lookup(60)];
    passed(limiter, lookup(60), 3);
    const asked = limiter.snapshot(GUILD, limits);
    passed(limiter, lookup(60), 2);
    const window = Math.floor(clock.now() / WINDOW_MS);
    limiter.learn(GUILD, limits, asked, { allowed: true, isLate: false, window, resetMs: WINDOW_MS, counts: [4] });
    expect(limiter.snapshot(GUILD, limits).known).toEqual([6]);
  });

  test('refuses without asking what Redis said is used up, until its window ends by the clock of Redis', () => {
    const clock = new ManualClock();
    const limiter = new MemoryLimiter({ clock });
    const refused = () => refuseExhausted([lookup(60)], limiter.snapshot(GUILD, [lookup(60)]));
    expect(refused()).toBeUndefined();
    tell(limiter, clock, lookup(60), 60, 20_000);
    expect(refused()).toMatchObject({ allowed: false, mode: 'exact', refusedBy: { remaining: 0, resetMs: 39_999 } });
    // Clocks are told in whole milliseconds: a window may be taken to end one early, never late.
    clock.advance(39_998);
    expect(refused()).toBeDefined();
    clock.advance(1);
    expect(refused()).toBeUndefined();
  });

  test('an answer about a window that has ended changes nothing', () => {
    const clock = new ManualClock();
    const limiter = new MemoryLimiter({ clock });
    const limits = [lookup(60)];
    const asked = limiter.snapshot(GUILD, limits);
    const window = Math.floor(clock.now() / WINDOW_MS);
    tell(limiter, clock, lookup(60), 1, WINDOW_MS);
    limiter.learn(GUILD, limits, asked, { allowed: true, isLate: false, window, resetMs: 1, counts: [59] });
    expect(limiter.snapshot(GUILD, limits)).toMatchObject({ window: window + 1, known: [1] });
  });
});

import { expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { seededRandom, wholeNumber } from '#test/random.ts';
import { RedisClock } from './redis-clock.ts';

test('while nothing is known Redis is held to have the same time', () => {
  const clock = new ManualClock();
  const redisClock = new RedisClock(clock);
  expect(redisClock.isKnown).toBe(false);
  expect(redisClock.at(clock.now())).toBe(clock.now());
});

test('Redis is never held to be behind its own clock, and at most as far ahead as its quickest answer took', () => {
  const random = seededRandom(20260101);
  for (let round = 0; round < 200; round += 1) {
    const clock = new ManualClock();
    const skew = wholeNumber(random, 100_000) - 50_000;
    const redisClock = new RedisClock(clock);
    let quickest = Number.POSITIVE_INFINITY;
    for (let answer = 0; answer < 20; answer += 1) {
      const askedAt = clock.now();
      const [there, back] = [wholeNumber(random, 50), wholeNumber(random, 50)];
      clock.advance(there);
      const told = clock.now() + skew;
      clock.advance(back);
      redisClock.learn(told, askedAt);
      quickest = Math.min(quickest, there + back);
      const ahead = redisClock.at(clock.now()) - (clock.now() + skew);
      expect(ahead).toBeGreaterThanOrEqual(0);
      expect(ahead).toBeLessThanOrEqual(quickest + 1);
    }
  }
});

test('a clock that is set, either way, is noticed with the next answer', () => {
  const clock = new ManualClock();
  const redisClock = new RedisClock(clock);
  for (const skew of [0, 90_000, -90_000, 10]) {
    redisClock.learn(clock.now() + skew, clock.now());
    expect(redisClock.at(clock.now()) - clock.now() - skew).toBe(1);
  }
});

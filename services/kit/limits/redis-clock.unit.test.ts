import { expect, test } from 'vitest';
import { seededRandom, wholeNumber } from '#test/random.ts';
import { ManualClock } from '../clock.ts';
import { RedisClock } from './redis-clock.ts';

test("before the first response Redis's clock is assumed to be the same", () => {
  const clock = new ManualClock();
  const redisClock = new RedisClock(clock);
  expect(redisClock.isKnown).toBe(false);
  expect(redisClock.at(clock.now())).toBe(clock.now());
});

test("the estimate is never behind Redis's clock, and ahead by at most the fastest round trip", () => {
  const random = seededRandom(20260101);
  for (let round = 0; round < 200; round += 1) {
    const clock = new ManualClock();
    const skew = wholeNumber(random, 100_000) - 50_000;
    const redisClock = new RedisClock(clock);
    let fastest = Number.POSITIVE_INFINITY;
    for (let response = 0; response < 20; response += 1) {
      const sentAt = clock.now();
      const [there, back] = [wholeNumber(random, 50), wholeNumber(random, 50)];
      clock.advance(there);
      const redisTime = clock.now() + skew;
      clock.advance(back);
      redisClock.learn(redisTime, sentAt);
      fastest = Math.min(fastest, there + back);
      const ahead = redisClock.at(clock.now()) - (clock.now() + skew);
      expect(ahead).toBeGreaterThanOrEqual(0);
      expect(ahead).toBeLessThanOrEqual(fastest + 1);
    }
  }
});

test('a clock that is set forward or back is detected with the next response', () => {
  const clock = new ManualClock();
  const redisClock = new RedisClock(clock);
  for (const skew of [0, 90_000, -90_000, 10]) {
    redisClock.learn(clock.now() + skew, clock.now());
    expect(redisClock.at(clock.now()) - clock.now() - skew).toBe(1);
  }
});

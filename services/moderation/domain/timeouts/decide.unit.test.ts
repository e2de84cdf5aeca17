import { expect, test } from 'vitest';
import { MAX_TIMEOUT_MS, nextStep, renewalOf } from './decide.ts';

const NOW = Date.UTC(2026, 10, 23);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NONE = { mute: 0, timeout: 0 };
const both = (end: number) => ({ mute: end, timeout: end });

test('what was changed on one side is carried over to the other', () => {
  const end = NOW + HOUR;
  expect(nextStep({ mute: end, timeout: 0 }, NONE, NOW)).toEqual({ change: 'timeout', until: end });
  expect(nextStep({ mute: 0, timeout: end }, NONE, NOW)).toEqual({ change: 'mute', until: end });
  expect(nextStep({ mute: 0, timeout: end }, both(end), NOW)).toEqual({ change: 'timeout', until: 0 });
  expect(nextStep({ mute: end, timeout: 0 }, both(end), NOW)).toEqual({ change: 'mute', until: 0 });
  expect(nextStep({ mute: end, timeout: end + HOUR }, both(end), NOW)).toEqual({ change: 'mute', until: end + HOUR });
});

test('if both were changed the later end is right', () => {
  const [short, long] = [NOW + HOUR, NOW + DAY];
  expect(nextStep({ mute: short, timeout: long }, NONE, NOW)).toEqual({ change: 'mute', until: long });
  expect(nextStep({ mute: long, timeout: short }, NONE, NOW)).toEqual({ change: 'timeout', until: long });
  expect(nextStep({ mute: 0, timeout: long }, both(short), NOW)).toEqual({ change: 'mute', until: long });
});

test('nothing is changed if both are equal, or have ended', () => {
  expect(nextStep(both(NOW + HOUR), NONE, NOW)).toEqual({ change: 'none' });
  expect(nextStep({ mute: NOW + HOUR, timeout: NOW + HOUR + 999 }, NONE, NOW)).toEqual({ change: 'none' });
  expect(nextStep({ mute: 0, timeout: NOW - HOUR }, both(NOW - HOUR), NOW)).toEqual({ change: 'none' });
  expect(nextStep({ mute: 0, timeout: NOW - HOUR }, NONE, NOW)).toEqual({ change: 'none' });
});

test('a mute that is longer than the longest timeout is extended a day before the timeout ends', () => {
  const first = nextStep({ mute: Infinity, timeout: 0 }, NONE, NOW);
  expect(first).toEqual({ change: 'timeout', until: NOW + MAX_TIMEOUT_MS });
  const agreed = { mute: Infinity, timeout: NOW + MAX_TIMEOUT_MS };
  expect(nextStep(agreed, agreed, NOW + HOUR)).toEqual({ change: 'none' });
  const renewal = renewalOf(agreed);
  expect(renewal).toBe(NOW + MAX_TIMEOUT_MS - DAY);
  expect(nextStep(agreed, agreed, renewal ?? 0)).toEqual({
    change: 'timeout',
    until: (renewal ?? 0) + MAX_TIMEOUT_MS,
  });
  expect(renewalOf(both(NOW + HOUR))).toBeUndefined();
});

test('a moderator of the chat platform ends or shortens the timeout of a permanent mute', () => {
  const agreed = { mute: Infinity, timeout: NOW + MAX_TIMEOUT_MS };
  expect(nextStep({ mute: Infinity, timeout: 0 }, agreed, NOW + HOUR)).toEqual({ change: 'mute', until: 0 });
  const short = { mute: Infinity, timeout: NOW + DAY };
  expect(nextStep(short, agreed, NOW + HOUR)).toEqual({ change: 'mute', until: NOW + DAY });
});

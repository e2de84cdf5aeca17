import { expect, test } from 'vitest';
import { dailyLimitReached } from './daily-limit.ts';

const DAY_SECONDS = 24 * 3_600;

test.each([
  ['2026-01-01T00:00:00.000Z', DAY_SECONDS],
  ['2026-01-01T06:00:00.000Z', (DAY_SECONDS / 4) * 3],
  ['2026-01-01T23:59:59.999Z', 1],
])('above a daily limit a client may retry at midnight (UTC): at %s after %i s', (now, retryAfter) => {
  const error = dailyLimitReached('too many changes today', Date.parse(now));
  expect(error).toMatchObject({ code: 'CONFLICT', message: 'too many changes today', retryAfter });
});

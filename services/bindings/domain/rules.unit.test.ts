import { describe, expect, test } from 'vitest';
import { combine, evaluateTarget, type Facts } from './rules.ts';

const NOW = Date.UTC(2026, 0, 31, 12);
const DAY_MS = 24 * 3600_000;

const facts = (known: Partial<Facts>): Facts => ({
  isLinked: true,
  ranks: new Map(),
  owns: () => false,
  createdAt: { chat: new Date(NOW), game: new Date(NOW) },
  isIncomplete: false,
  isRejected: false,
  ...known,
});
const inGroup = (...ranks: number[]) => facts({ ranks: new Map([[501, ranks]]) });
const range = (min: number, max: number) => ({ kind: 'rank' as const, groupId: 501, min, max });

describe('a group_rank', () => {
  test.each([
    [[50], 50, 255, 50, 'rank 50 is within 50 to 255'],
    [[255], 50, 255, 255, 'rank 255 is within 50 to 255'],
    [[200, 50], 10, 100, 50, 'rank 50 is within 10 to 100'],
    [[], 0, 10, 0, 'rank 0 is within 0 to 10'],
  ])('with ranks %j is wanted from %i to %i by rank %i', (ranks, min, max, rank, reason) => {
    const known = ranks.length > 0 ? inGroup(...ranks) : facts({});
    expect(evaluateTarget(range(min, max), known, NOW)).toEqual({
      verdict: 'wanted',
      code: 'RANK_IN_RANGE',
      reason,
      rank,
    });
  });

  test.each([
    [[12], 50, 255, 12, 'rank 12 is below the minimum of 50', 'RANK_TOO_LOW'],
    [[200, 10], 50, 100, 200, 'rank 200 is above the maximum of 100', 'RANK_TOO_HIGH'],
    [[10, 20], 50, 100, 20, 'rank 20 is below the minimum of 50', 'RANK_TOO_LOW'],
    [[], 1, 255, 0, 'the user is not in group 501, and the minimum rank is 1', 'NOT_IN_GROUP'],
  ])(
    'with ranks %j is not wanted from %i to %i, and has the highest rank, %i',
    (ranks, min, max, rank, reason, code) => {
      const known = ranks.length > 0 ? inGroup(...ranks) : facts({});
      expect(evaluateTarget(range(min, max), known, NOW)).toEqual({ verdict: 'not_wanted', code, reason, rank });
    },
  );

  test('considers only the ranks in its own group', () => {
    expect(evaluateTarget({ ...range(50, 255), groupId: 502 }, inGroup(100), NOW)).toMatchObject({
      verdict: 'not_wanted',
      rank: 0,
    });
  });

  test('is unknown and has no rank if the ranks are unknown', () => {
    const evaluated = evaluateTarget(range(0, 255), facts({ ranks: 'unknown' }), NOW);
    expect(evaluated).toEqual({
      verdict: 'unknown',
      code: 'PLATFORM_UNAVAILABLE',
      reason: "the game platform cannot report the user's rank in group 501 now",
    });
  });
});

test.each([
  [true, 'wanted', 'the user owns badge 801', 'OWNED'],
  [false, 'not_wanted', 'the user does not own badge 801', 'NOT_OWNED'],
  ['hidden', 'unknown', 'the inventory is private: badge 801 may be owned', 'INVENTORY_PRIVATE'],
  ['unknown', 'unknown', 'the game platform does not respond now: badge 801 may be owned', 'PLATFORM_UNAVAILABLE'],
] as const)('an item of which ownership is %s is %s', (owned, verdict, reason, code) => {
  const item = { kind: 'badge', id: 801 } as const;
  const owns: Facts['owns'] = (queried) => (queried === item ? owned : 'unknown');
  expect(evaluateTarget({ kind: 'item', item }, facts({ owns }), NOW)).toEqual({ verdict, code, reason });
});

describe('an account_age', () => {
  const age = (platform: 'chat' | 'game', minDays: number) => ({ kind: 'age' as const, platform, minDays });
  const made = (days: number) => new Date(NOW - days * DAY_MS);

  test('counts whole days since the creation on its own platform', () => {
    const known = facts({ createdAt: { chat: made(30), game: new Date(NOW - 30 * DAY_MS + 1) } });
    expect(evaluateTarget(age('chat', 30), known, NOW)).toEqual({
      verdict: 'wanted',
      code: 'OLD_ENOUGH',
      reason: 'the chat account is 30 days old, at least 30',
      days: 30,
    });
    expect(evaluateTarget(age('game', 30), known, NOW)).toEqual({
      verdict: 'not_wanted',
      code: 'TOO_YOUNG',
      reason: 'the game account is 29 days old, less than 30',
      days: 29,
    });
  });

  test('an account from the future is 0 days old', () => {
    expect(evaluateTarget(age('chat', 0), facts({ createdAt: { chat: made(-5), game: 'unknown' } }), NOW).verdict).toBe(
      'wanted',
    );
  });

  test('is unknown if the creation time is unknown', () => {
    const known = facts({ createdAt: { chat: made(1), game: 'unknown' } });
    expect(evaluateTarget(age('game', 0), known, NOW).verdict).toBe('unknown');
  });
});

test.each([
  ['wanted', ['not_wanted', 'unknown', 'wanted']],
  ['unknown', ['not_wanted', 'unknown', 'not_wanted']],
  ['not_wanted', ['not_wanted', 'not_wanted']],
] as const)('a role is %s by bindings that are %j', (verdict, verdicts) => {
  expect(combine(verdicts)).toBe(verdict);
});

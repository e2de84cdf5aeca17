import { describe, expect, test } from 'vitest';
import type { GamePlatform } from '#platforms/game.ts';
import type { Target } from './binding.ts';
import { loadFacts } from './facts.ts';

const members = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ chatId: '175928847299117063', gameId: index + 1 }));
const PASS = { kind: 'gamepass', id: 601 } as const;
const RANK: Target = { kind: 'rank', groupId: 501, min: 1, max: 255 };
const ITEM: Target = { kind: 'item', item: PASS };
const AGE: Target = { kind: 'age', platform: 'game', minDays: 1 };
const forever = () => new Promise<never>(() => undefined);

/** A platform on which the rank of each user equals the ID; records its calls. */
function platform(own: Partial<GamePlatform> = {}) {
  const calls: Record<'ranks' | 'owns' | 'createdAt', unknown[][]> = { ranks: [], owns: [], createdAt: [] };
  const game = {
    ranks: async (ids: readonly number[], groupIds: readonly number[]) => {
      calls.ranks.push([ids.length, groupIds]);
      return new Map(ids.map((id) => [id, new Map([[501, [id]]])]));
    },
    owns: async (id: number, items: readonly unknown[]) => {
      calls.owns.push([id, items]);
      return items.map(() => true);
    },
    createdAt: async (id: number) => {
      calls.createdAt.push([id]);
      return new Date(0);
    },
    ...own,
  } as unknown as GamePlatform;
  return { game, calls };
}

describe('only facts that the targets need are queried', () => {
  test.each([
    ['no target', [], [0, 0, 0]],
    ['an age on the chat platform', [{ kind: 'age', platform: 'chat', minDays: 1 }], [0, 0, 0]],
    ['ranks of two groups', [RANK, { ...RANK, groupId: 502 }, RANK], [3, 0, 0]],
    ['the same item twice', [ITEM, ITEM], [0, 101, 0]],
    ['an age on the game platform', [AGE], [0, 0, 101]],
  ] as [string, Target[], number[]][])('%s', async (_what, targets, calls) => {
    const { game, calls: made } = platform();
    await loadFacts(members(101), targets, { game, deadlineMs: 1_000 });
    expect(Object.values(made).map(({ length }) => length)).toEqual(calls);
  });

  test('ranks are queried in pages of 50 members, each group and item once', async () => {
    const { game, calls } = platform();
    await loadFacts(members(51), [RANK, RANK, ITEM, ITEM], { game, deadlineMs: 1_000 });
    expect(calls.ranks).toEqual([
      [50, [501]],
      [1, [501]],
    ]);
    expect(calls.owns[0]).toEqual([1, [PASS]]);
  });
});

test('every member has its own facts', async () => {
  const facts = await loadFacts(members(51), [RANK, ITEM, AGE], { game: platform().game, deadlineMs: 1_000 });
  expect(facts.map(({ ranks }) => ranks instanceof Map && ranks.get(501))).toEqual(
    members(51).map(({ gameId }) => [gameId]),
  );
  const [first] = facts;
  expect(first?.owns({ ...PASS })).toBe(true);
  expect(first?.owns({ kind: 'badge', id: 601 })).toBe('unknown');
  expect(first?.createdAt).toEqual({ chat: new Date('2016-04-30T11:18:25.796Z'), game: new Date(0) });
});

test.each([
  ['never responds', forever],
  ['fails', () => Promise.reject(new Error('no'))],
])('facts from a platform that %s are unknown at the deadline', async (_what, respond) => {
  const { game } = platform({ ranks: respond, owns: respond, createdAt: respond });
  const [facts, ...others] = await loadFacts(members(100), [RANK, ITEM, AGE], { game, deadlineMs: 50 });
  expect(others).toHaveLength(99);
  expect([facts?.ranks, facts?.owns(PASS), facts?.createdAt.game]).toEqual(['unknown', 'unknown', 'unknown']);
});

test('a missing response leaves only its own facts unknown', async () => {
  const ranks = async (ids: readonly number[]) => (ids.length === 50 ? forever() : new Map([[51, new Map()]]));
  const facts = await loadFacts(members(51), [RANK, ITEM], { game: platform({ ranks }).game, deadlineMs: 50 });
  expect([facts[0]?.ranks, facts[0]?.owns(PASS)]).toEqual(['unknown', true]);
  expect(facts[50]?.ranks).toEqual(new Map());
});

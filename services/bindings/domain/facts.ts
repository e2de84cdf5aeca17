import { inParallel } from '#kit/parallel.ts';
import { inBatches } from '#platforms/batch-cache.ts';
import type { GameItem, GamePlatform, Unknown, Untold } from '#platforms/game.ts';
import { snowflakeTime } from '#platforms/snowflake.ts';
import type { Target } from '../binding.ts';
import type { Facts } from './rules.ts';

/** As many as the game platform tells the ranks of in one call. */
const PAGE = 50;
/** Calls at once that are about one user each. */
const AT_ONCE = 10;

export interface Member {
  chatId: string;
  gameId: number;
}

/**
 * What the targets need to know of members, in their order; nothing else is asked for. What the game platform has not
 * told within `deadlineMs` is unknown. Never fails.
 */
export async function learnFacts(
  game: GamePlatform,
  members: readonly Member[],
  targets: readonly Target[],
  deadlineMs: number,
): Promise<Facts[]> {
  const late = AbortSignal.timeout(deadlineMs);
  const whenLate = new Promise<Unknown>((resolve) => late.addEventListener('abort', () => resolve('unknown')));
  const orUnknown = <Answer>(answer: Promise<Answer>): Promise<Answer | Unknown> =>
    Promise.race([answer.catch(() => 'unknown' as const), whenLate]);

  const ids = members.map(({ gameId }) => gameId);
  const groupIds = groupsOf(targets);
  const items = itemsOf(targets);
  const asksAge = needsGameAge(targets);
  const [pages, owned, created] = await Promise.all([
    inParallel(
      groupIds.length > 0 ? inBatches(ids, PAGE) : [],
      AT_ONCE,
      (page) => orUnknown(game.ranks(page, groupIds)),
      late,
    ),
    inParallel(items.length > 0 ? ids : [], AT_ONCE, (id) => orUnknown(game.owns(id, items)), late),
    inParallel(asksAge ? ids : [], AT_ONCE, (id) => orUnknown(game.createdAt(id)), late),
  ]);
  return members.map(({ chatId, gameId }, index) => {
    const page = pages[Math.floor(index / PAGE)];
    const ranks = page instanceof Map ? (page.get(gameId) ?? 'unknown') : 'unknown';
    const game = created[index] ?? 'unknown';
    const answers = owned[index] ?? 'unknown';
    return {
      ranks,
      owns: ownership(items, answers),
      createdAt: { chat: snowflakeTime(chatId), game },
      isIncomplete:
        (groupIds.length > 0 && ranks === 'unknown') ||
        (items.length > 0 && [answers].flat().includes('unknown')) ||
        (asksAge && game === 'unknown'),
    };
  });
}

/** Each group once. */
function groupsOf(targets: readonly Target[]): number[] {
  return [...new Set(targets.flatMap((target) => (target.kind === 'rank' ? [target.groupId] : [])))];
}

const needsGameAge = (targets: readonly Target[]) =>
  targets.some((target) => target.kind === 'age' && target.platform === 'game');

const nameOf = ({ kind, id }: GameItem) => `${kind} ${id}`;

/** Each item once. */
function itemsOf(targets: readonly Target[]): GameItem[] {
  const items = targets.flatMap((target) => (target.kind === 'item' ? [target.item] : []));
  return [...new Map(items.map((item) => [nameOf(item), item])).values()];
}

function ownership(items: readonly GameItem[], answers: readonly (boolean | Untold)[] | Unknown): Facts['owns'] {
  const byName = new Map(
    items.map((item, index) => [nameOf(item), Array.isArray(answers) ? answers[index] : undefined]),
  );
  return (item) => byName.get(nameOf(item)) ?? 'unknown';
}

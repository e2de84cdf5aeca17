import { inParallel } from '#kit/resilience/parallel.ts';
import { inBatches } from '#platforms/batch-cache.ts';
import { snowflakeTime } from '#platforms/discord/snowflake.ts';
import type { GameItem, GamePlatform, Unknown, UnknownOrHidden } from '#platforms/game.ts';
import type { Target } from './binding.ts';
import type { Facts } from './rules.ts';

/** As many as the game platform tells the ranks of in one call. */
const PAGE = 50;
/** Calls at once that are about one user each. */
const AT_ONCE = 10;

export interface Member {
  chatId: string;
  gameId: number;
}

/** Of what is known of a member so far, the targets that still decide something. */
export type Undecided = (facts: Facts) => readonly Target[];

type Ranks = Facts['ranks'];
type Owned = readonly (boolean | UnknownOrHidden)[] | Unknown;
/** What was queried of a member, and what the platform told; undefined where it was not queried. */
interface Told {
  ranks: Ranks | undefined;
  createdAt: Date | UnknownOrHidden | undefined;
  items: readonly GameItem[];
  owned: Owned;
}

/**
 * What the targets need to know of members, in their order; nothing else is asked for. What the game platform has not
 * told within `deadlineMs` is unknown. With `undecided` the cheap facts come first: ranks, of 50 members a call, then
 * ages, then ownership, which takes a call a member, and each of them only where it still decides. Never fails.
 */
export async function learnFacts(
  game: GamePlatform,
  members: readonly Member[],
  targets: readonly Target[],
  deadlineMs: number,
  undecided?: Undecided,
): Promise<Facts[]> {
  const queries = new Queries(game, members, deadlineMs);
  const told = members.map((): Told => ({ ranks: undefined, createdAt: undefined, items: [], owned: 'unknown' }));
  const facts = () => members.map((member, index) => factsOf(member, told[index] as Told));
  const learnRanks = async () => {
    const groupIds = groupsOf(targets);
    if (groupIds.length === 0) return;
    for (const [index, ranks] of (await queries.ranks(groupIds)).entries()) (told[index] as Told).ranks = ranks;
  };
  const needs = () => (undecided ? facts().map(undecided) : members.map(() => targets));
  const learnAges = async () => {
    const asked = needs().map(needsGameAge);
    for (const [index, at] of (await queries.ages(asked)).entries()) (told[index] as Told).createdAt = at;
  };
  const learnOwnership = async () => {
    const asked = needs().map(itemsOf);
    const all = await queries.ownership(asked);
    for (const [index, items] of asked.entries()) Object.assign(told[index] as Told, { items, owned: all[index] });
  };
  const steps = [learnRanks, learnAges, learnOwnership];
  if (undecided) for (const step of steps) await step();
  else await Promise.all(steps.map((step) => step()));
  return facts();
}

function factsOf({ chatId }: Member, { ranks, createdAt, items, owned }: Told): Facts {
  return {
    ranks: ranks ?? 'unknown',
    owns: ownership(items, owned),
    createdAt: { chat: snowflakeTime(chatId), game: createdAt ?? 'unknown' },
    isIncomplete:
      ranks === 'unknown' || createdAt === 'unknown' || (items.length > 0 && [owned].flat().includes('unknown')),
    isRejected: ranks === 'rejected',
  };
}

/** What the game platform is asked about members; what it has not told by the deadline is unknown. */
class Queries {
  readonly #game: GamePlatform;
  readonly #ids: readonly number[];
  readonly #late: AbortSignal;
  readonly #whenLate: Promise<Unknown>;

  constructor(game: GamePlatform, members: readonly Member[], deadlineMs: number) {
    this.#game = game;
    this.#ids = members.map(({ gameId }) => gameId);
    this.#late = AbortSignal.timeout(deadlineMs);
    this.#whenLate = new Promise((resolve) => this.#late.addEventListener('abort', () => resolve('unknown')));
  }

  async ranks(groupIds: readonly number[]): Promise<Ranks[]> {
    const page = (ids: readonly number[]) => this.#orUnknown(this.#game.ranks(ids, groupIds));
    const pages = await inParallel(inBatches(this.#ids, PAGE), AT_ONCE, page, this.#late);
    return this.#ids.map((id, index): Ranks => {
      const told = pages[Math.floor(index / PAGE)];
      return told instanceof Map ? (told.get(id) ?? 'unknown') : 'unknown';
    });
  }

  /** Undefined for whom it is not asked. */
  ages(asked: readonly boolean[]): Promise<(Date | UnknownOrHidden | undefined)[]> {
    return this.#ofSome(asked, (id) => this.#game.createdAt(id));
  }

  /** `unknown` for whom no item is asked. */
  async ownership(asked: readonly (readonly GameItem[])[]): Promise<Owned[]> {
    const needed = asked.map((items) => items.length > 0);
    const owned = await this.#ofSome(needed, (id, index) => this.#game.owns(id, asked[index] ?? []));
    return owned.map((one) => one ?? 'unknown');
  }

  async #ofSome<Answer>(
    asked: readonly boolean[],
    ask: (id: number, index: number) => Promise<Answer>,
  ): Promise<(Answer | Unknown | undefined)[]> {
    const some = [...this.#ids.entries()].filter(([index]) => asked[index]);
    const work = ([index, id]: [number, number]) => this.#orUnknown(ask(id, index));
    const answers = await inParallel(some, AT_ONCE, work, this.#late);
    const byIndex = new Map(some.map(([index], place) => [index, answers[place] ?? 'unknown'] as const));
    return this.#ids.map((_, index) => byIndex.get(index));
  }

  #orUnknown<Answer>(answer: Promise<Answer>): Promise<Answer | Unknown> {
    return Promise.race([answer.catch(() => 'unknown' as const), this.#whenLate]);
  }
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

function ownership(items: readonly GameItem[], answers: Owned): Facts['owns'] {
  const byName = new Map(
    items.map((item, index) => [nameOf(item), Array.isArray(answers) ? answers[index] : undefined]),
  );
  return (item) => byName.get(nameOf(item)) ?? 'unknown';
}

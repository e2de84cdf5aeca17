import type { Freshness } from '#kit/resilience/cache.ts';
import { inParallel } from '#kit/resilience/parallel.ts';
import { inBatches } from '#platforms/batch-cache.ts';
import { snowflakeTime } from '#platforms/discord/snowflake.ts';
import type { GameItem, GamePlatform, Unknown, UnknownOrHidden } from '#platforms/game.ts';
import type { Target } from './binding.ts';
import type { Facts } from './rules.ts';

/** The maximum number of users whose ranks the game platform returns in one call. */
const PAGE = 50;
/** The maximum number of concurrent calls to the game platform for one evaluation and one kind of fact. */
const MAX_CONCURRENT = 10;

export interface Member {
  chatId: string;
  /** The linked game account; null if there is none. */
  gameId: number | null;
}

interface LinkedMember extends Member {
  gameId: number;
}

const isLinked = (member: Member): member is LinkedMember => member.gameId !== null;

/**
 * Returns those targets of role bindings that can still change a verdict, given the facts about a member known so far.
 */
export type DecidingTargets = (facts: Facts) => readonly Target[];

type Ranks = Facts['ranks'];
type Owned = readonly (boolean | UnknownOrHidden)[] | Unknown;
/** The results of the game platform's queries about a member; undefined if a query was not made. */
interface MemberResults {
  ranks: Ranks | undefined;
  createdAt: Date | UnknownOrHidden | undefined;
  items: readonly GameItem[];
  owned: Owned;
}

export interface FactsOptions {
  game: GamePlatform;
  /** Facts that the game platform has not returned within so many milliseconds are unknown. */
  deadlineMs: number;
  /**
   * If given, the kinds of facts are loaded one after the other, the cheap ones first, and only for members for whom they
   * can still change a verdict: ranks (50 members per call), account ages, ownership (a call per member).
   */
  decidingTargets?: DecidingTargets | undefined;
  /** How new the ranks must be. */
  freshness?: Freshness | undefined;
  /** If set, ownership that was read from the game platform at most this many milliseconds ago is used without a call. */
  maxOwnershipAgeMs?: number | undefined;
}

/** Loads the facts about members that the targets depend on, in the order of the members. Never fails. */
export async function loadFacts(
  members: readonly Member[],
  targets: readonly Target[],
  options: FactsOptions,
): Promise<Facts[]> {
  const linked = members.filter(isLinked);
  const loaded = (await loadLinked(linked, targets, options)).values();
  return members.map((member) => (isLinked(member) ? (loaded.next().value as Facts) : withoutLink(member)));
}

async function loadLinked(
  members: readonly LinkedMember[],
  targets: readonly Target[],
  { decidingTargets, ...options }: FactsOptions,
): Promise<Facts[]> {
  const queries = new PlatformQueries({ ...options, members });
  const results = members.map(
    (): MemberResults => ({ ranks: undefined, createdAt: undefined, items: [], owned: 'unknown' }),
  );
  const facts = () => members.map((member, index) => factsOf(member, results[index] as MemberResults));
  const loadRanks = async () => {
    const groupIds = groupsOf(targets);
    if (groupIds.length === 0) return;
    for (const [index, ranks] of (await queries.ranks(groupIds)).entries())
      (results[index] as MemberResults).ranks = ranks;
  };
  const needs = () => (decidingTargets ? facts().map(decidingTargets) : members.map(() => targets));
  const loadAges = async () => {
    const isNeeded = needs().map(needsGameAge);
    for (const [index, at] of (await queries.ages(isNeeded)).entries())
      (results[index] as MemberResults).createdAt = at;
  };
  const loadOwnership = async () => {
    const itemsByMember = needs().map(itemsOf);
    const all = await queries.ownership(itemsByMember);
    for (const [index, items] of itemsByMember.entries())
      Object.assign(results[index] as MemberResults, { items, owned: all[index] });
  };
  const steps = [loadRanks, loadAges, loadOwnership];
  if (decidingTargets) for (const step of steps) await step();
  else await Promise.all(steps.map((step) => step()));
  return facts();
}

/** The facts about a member without a game account. */
const withoutLink = ({ chatId }: Member): Facts => ({
  isLinked: false,
  ranks: new Map(),
  owns: () => false,
  createdAt: { chat: snowflakeTime(chatId), game: 'hidden' },
  isIncomplete: false,
  isRejected: false,
});

function factsOf({ chatId }: Member, { ranks, createdAt, items, owned }: MemberResults): Facts {
  return {
    isLinked: true,
    ranks: ranks ?? 'unknown',
    owns: ownership(items, owned),
    createdAt: { chat: snowflakeTime(chatId), game: createdAt ?? 'unknown' },
    isIncomplete:
      ranks === 'unknown' || createdAt === 'unknown' || (items.length > 0 && [owned].flat().includes('unknown')),
    isRejected: ranks === 'rejected',
  };
}

interface PlatformQueriesOptions extends Omit<FactsOptions, 'decidingTargets'> {
  members: readonly LinkedMember[];
}

/** Queries the game platform about members. Results that have not arrived by the deadline are unknown. */
class PlatformQueries {
  readonly #game: GamePlatform;
  readonly #ids: readonly number[];
  readonly #freshness: Freshness | undefined;
  readonly #maxOwnershipAgeMs: number | undefined;
  readonly #late: AbortSignal;
  readonly #unknownWhenLate: Promise<Unknown>;

  constructor({ game, members, deadlineMs, freshness, maxOwnershipAgeMs }: PlatformQueriesOptions) {
    this.#game = game;
    this.#freshness = freshness;
    this.#maxOwnershipAgeMs = maxOwnershipAgeMs;
    this.#ids = members.map(({ gameId }) => gameId);
    this.#late = AbortSignal.timeout(deadlineMs);
    this.#unknownWhenLate = new Promise((resolve) => this.#late.addEventListener('abort', () => resolve('unknown')));
  }

  async ranks(groupIds: readonly number[]): Promise<Ranks[]> {
    const page = (ids: readonly number[]) => this.#orUnknown(this.#game.ranks(ids, groupIds, this.#freshness));
    const pages = await inParallel(inBatches(this.#ids, PAGE), MAX_CONCURRENT, page, this.#late);
    return this.#ids.map((id, index): Ranks => {
      const page = pages[Math.floor(index / PAGE)];
      return page instanceof Map ? (page.get(id) ?? 'unknown') : 'unknown';
    });
  }

  /** Returns when the members' game accounts were created; undefined for members for whom this is not needed. */
  ages(isNeeded: readonly boolean[]): Promise<(Date | UnknownOrHidden | undefined)[]> {
    return this.#ofSome(isNeeded, (id) => this.#game.createdAt(id));
  }

  /** Returns which items each member owns; `unknown` for members for whom no items are queried. */
  async ownership(itemsByMember: readonly (readonly GameItem[])[]): Promise<Owned[]> {
    const isNeeded = itemsByMember.map((items) => items.length > 0);
    const options = { maxAgeMs: this.#maxOwnershipAgeMs };
    const query = (id: number, index: number) => this.#game.owns(id, itemsByMember[index] ?? [], options);
    const owned = await this.#ofSome(isNeeded, query);
    return owned.map((result) => result ?? 'unknown');
  }

  async #ofSome<Result>(
    isNeeded: readonly boolean[],
    query: (id: number, index: number) => Promise<Result>,
  ): Promise<(Result | Unknown | undefined)[]> {
    const some = [...this.#ids.entries()].filter(([index]) => isNeeded[index]);
    const work = ([index, id]: [number, number]) => this.#orUnknown(query(id, index));
    const results = await inParallel(some, MAX_CONCURRENT, work, this.#late);
    const byIndex = new Map(some.map(([index], position) => [index, results[position] ?? 'unknown'] as const));
    return this.#ids.map((_, index) => byIndex.get(index));
  }

  #orUnknown<Result>(result: Promise<Result>): Promise<Result | Unknown> {
    return Promise.race([result.catch(() => 'unknown' as const), this.#unknownWhenLate]);
  }
}

/** Returns the IDs of the groups that targets name, each once. */
function groupsOf(targets: readonly Target[]): number[] {
  return [...new Set(targets.flatMap((target) => (target.kind === 'rank' ? [target.groupId] : [])))];
}

const needsGameAge = (targets: readonly Target[]) =>
  targets.some((target) => target.kind === 'age' && target.platform === 'game');

const itemKey = ({ kind, id }: GameItem) => `${kind} ${id}`;

/** Returns the items that targets name, each once. */
function itemsOf(targets: readonly Target[]): GameItem[] {
  const items = targets.flatMap((target) => (target.kind === 'item' ? [target.item] : []));
  return [...new Map(items.map((item) => [itemKey(item), item])).values()];
}

function ownership(items: readonly GameItem[], results: Owned): Facts['owns'] {
  const byKey = new Map(
    items.map((item, index) => [itemKey(item), Array.isArray(results) ? results[index] : undefined]),
  );
  return (item) => byKey.get(itemKey(item)) ?? 'unknown';
}

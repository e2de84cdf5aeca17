import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { BatchCache } from '../batch-cache.ts';
import type { Rejected, Unknown } from '../game.ts';
import type { PlatformHost } from '../http/host.ts';
import { Bisection, type Told } from './bisection.ts';
import type { OpenCloud } from './cloud.ts';
import type { Groups } from './groups.ts';
import { isRejection, orError, orUnknown, refusal } from './responses.ts';

const KEPT_MS = 30_000;
const MOST_USERS = 5_000;
/** The most that Open Cloud takes in one filter. */
const BATCH = 50;
/** Of the groups host: "The user is invalid or does not exist." */
const UNKNOWN_USER = 3;
/** The role is younger than what we remember of its group, or the platform contradicts itself. */
const REJECTS = 'The game platform rejects requests about this account';
const NO_RANK = 'The game platform does not tell yet which rank the user holds';

/** A role that a user holds; Open Cloud does not tell its rank. */
type Holding = { groupId: number; roleId: number; rank?: number };
/** What a user holds, or why the platform does not tell. */
type Holdings = Told<readonly Holding[]>;
type LoadHoldings = (userIds: readonly number[]) => Promise<ReadonlyMap<number, Holdings>>;
type Ranks = ReadonlyMap<number, readonly number[]>;

/** The ranks of users in groups. */
export class UserRanks {
  readonly #groups: Groups;
  readonly #holdings: BatchCache<Holdings>;

  constructor(load: LoadHoldings, groups: Groups, clock: Clock) {
    this.#groups = groups;
    this.#holdings = new BatchCache<Holdings>({
      ttlMs: KEPT_MS,
      max: MOST_USERS,
      batch: BATCH,
      clock,
      load,
      remember: (holdings) => !(holdings instanceof ApiError),
    });
  }

  async of(userIds: readonly number[], groupIds: readonly number[]): Promise<Map<number, Ranks | Unknown | Rejected>> {
    const asked = new Set(groupIds);
    const holdings = new Map<number, Holdings>();
    for (const [userId, all] of await this.#holdings.get(userIds)) {
      holdings.set(userId, isTold(all) ? all.filter(({ groupId }) => asked.has(groupId)) : all);
    }
    const rankOf = await this.#rankFinder([...holdings.values()]);
    return new Map([...holdings].map(([userId, held]) => [userId, ranksOf(held, rankOf)]));
  }

  /** Of one user in one group; rejects where the platform does not tell. */
  async ofOne(userId: number, groupId: number): Promise<readonly number[]> {
    const holdings = (await this.#holdings.get([userId])).get(userId) ?? new ApiError('PLATFORM_ERROR');
    if (holdings instanceof ApiError) throw holdings;
    if (holdings === 'rejected') throw new ApiError('PLATFORM_ERROR', { message: REJECTS });
    const held = holdings.filter((holding) => holding.groupId === groupId);
    if (held.some(({ rank }) => rank === undefined)) await this.#groups.roles(groupId);
    const ranks = ranksOf(held, await this.#rankFinder([held]));
    if (ranks === 'unknown' || ranks === 'rejected') throw new ApiError('PLATFORM_ERROR', { message: NO_RANK });
    return ranks.get(groupId) ?? [];
  }

  /** Gives the rank of a holding; asks for the roles of those groups alone that it takes. */
  async #rankFinder(all: readonly Holdings[]): Promise<(holding: Holding) => number | undefined> {
    const held = all.flatMap((holdings) => (isTold(holdings) ? holdings : []));
    const unranked = held.filter(({ rank }) => rank === undefined);
    const groupIds = [...new Set(unranked.map(({ groupId }) => groupId))];
    const roles = await Promise.all(groupIds.map((id) => orUnknown(this.#groups.roles(id))));
    const known = roles.flatMap((of) => (of === 'unknown' || of === null ? [] : of));
    const ranks = new Map(known.map(({ id, rank }) => [id, rank]));
    return ({ roleId, rank }) => rank ?? ranks.get(roleId);
  }
}

const isTold = (holdings: Holdings): holdings is readonly Holding[] => Array.isArray(holdings);

function ranksOf(holdings: Holdings, rankOf: (holding: Holding) => number | undefined): Ranks | Unknown | Rejected {
  if (!isTold(holdings)) return holdings === 'rejected' ? holdings : 'unknown';
  const ranks = new Map<number, number[]>();
  for (const holding of holdings) {
    const rank = rankOf(holding);
    if (rank === undefined) return 'unknown';
    ranks.set(holding.groupId, [...(ranks.get(holding.groupId) ?? []), rank]);
  }
  return ranks;
}

/**
 * By Open Cloud: one call, and one more for every hundred memberships; when one fails nothing is known of anybody. Where
 * the platform rejects a batch because of an account, that account is found by some more calls.
 */
export function holdingsByCloud(cloud: OpenCloud, clock: Clock): LoadHoldings {
  const load = async (userIds: readonly number[]) => {
    const held = await cloud.heldRoles(userIds);
    if (held === 'rejected') return held;
    const holdings = new Map(userIds.map((id) => [id, [] as Holding[]]));
    for (const { userId, groupId, roleId } of held) holdings.get(userId)?.push({ groupId, roleId });
    return holdings;
  };
  const bisection = new Bisection<readonly Holding[]>(load, clock);
  return (userIds) => bisection.load(userIds);
}

const userGroupsAnswer = z.object({
  data: z.array(
    z.object({
      group: z.object({ id: z.int() }),
      role: z.object({ id: z.int(), rank: z.int().min(0).max(255) }),
    }),
  ),
});

/** By the groups host: one call a user, which tells the highest role of each group alone. */
export const holdingsByUser = (host: PlatformHost): LoadHoldings => {
  const load = async (userId: number): Promise<readonly Holding[] | 'rejected'> => {
    const answer = await host.get(`/v2/users/${userId}/groups/roles`);
    if (answer.status === 400 && refusal(answer)?.code === UNKNOWN_USER) return [];
    if (isRejection(answer)) return 'rejected';
    const { data } = host.expect(answer, userGroupsAnswer);
    return data.map(({ group, role }) => ({ groupId: group.id, roleId: role.id, rank: role.rank }));
  };
  return async (userIds) =>
    new Map(await Promise.all(userIds.map(async (id) => [id, await orError(load(id))] as const)));
};

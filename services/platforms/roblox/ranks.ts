import { z } from 'zod';
import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { Freshness } from '#kit/resilience/cache.ts';
import { BatchCache } from '../batch-cache.ts';
import type { Rejected, Unknown } from '../game.ts';
import type { PlatformHost } from '../http/host.ts';
import { type AccountResult, Bisection } from './bisection.ts';
import type { OpenCloud } from './cloud.ts';
import type { Groups } from './groups.ts';
import { errorOf, isRejection, resultOrError, resultOrUnknown } from './responses.ts';

const TTL_MS = 30_000;
const MAX_CACHED_USERS = 5_000;
/** The maximum number of users in one filter of Open Cloud. */
const BATCH = 50;
/**
 * Background work makes at most one call in this time, in milliseconds: 200 of the 300 calls a minute that Open Cloud
 * allows.
 */
const GATHER_MS = 300;
/** The error code with which the game platform's host for groups says "The user is invalid or does not exist." */
const UNKNOWN_USER = 3;
const ACCOUNT_REJECTED = 'The game platform rejects requests about this account';
/**
 * The error message if a role is newer than the cached roles of its group, or the platform's responses are
 * inconsistent.
 */
const RANK_UNKNOWN = 'The game platform does not report the rank of a role yet, try again later';

/** A role that a user holds in a group. Open Cloud does not report the rank of the role. */
type Holding = { groupId: number; roleId: number; rank?: number };
/** The roles that a user holds, or the reason why the roles are not known. */
type Holdings = AccountResult<readonly Holding[]>;
type LoadHoldings = (userIds: readonly number[]) => Promise<ReadonlyMap<number, Holdings>>;
type Ranks = ReadonlyMap<number, readonly number[]>;

export interface UserRanksOptions {
  load: LoadHoldings;
  groups: Groups;
  clock: Clock;
}

/** Finds out the ranks of users in groups of the game platform. */
export class UserRanks {
  readonly #groups: Groups;
  readonly #holdings: BatchCache<Holdings>;

  constructor({ load, groups, clock }: UserRanksOptions) {
    this.#groups = groups;
    this.#holdings = new BatchCache<Holdings>({
      ttlMs: TTL_MS,
      max: MAX_CACHED_USERS,
      batch: BATCH,
      clock,
      load,
      isCacheable: (holdings) => !(holdings instanceof ApiError),
      gatherMs: GATHER_MS,
    });
  }

  async of(
    userIds: readonly number[],
    groupIds: readonly number[],
    freshness?: Freshness,
  ): Promise<Map<number, Ranks | Unknown | Rejected>> {
    const wanted = new Set(groupIds);
    const holdings = new Map<number, Holdings>();
    for (const [userId, all] of await this.#holdings.get(userIds, freshness)) {
      holdings.set(userId, isKnown(all) ? all.filter(({ groupId }) => wanted.has(groupId)) : all);
    }
    const rankOf = await this.#rankFinder([...holdings.values()], freshness);
    return new Map([...holdings].map(([userId, held]) => [userId, ranksOf(held, rankOf)]));
  }

  /** Returns the ranks of one user in one group. Throws PLATFORM_ERROR if the ranks are not known. */
  async ofOne(userId: number, groupId: number, freshness?: Freshness): Promise<readonly number[]> {
    const holdings = (await this.#holdings.get([userId], freshness)).get(userId) ?? new ApiError('PLATFORM_ERROR');
    if (holdings instanceof ApiError) throw holdings;
    if (holdings === 'rejected') throw new ApiError('PLATFORM_ERROR', { message: ACCOUNT_REJECTED });
    const held = holdings.filter((holding) => holding.groupId === groupId);
    if (held.some(({ rank }) => rank === undefined)) await this.#groups.roles(groupId, freshness);
    const ranks = ranksOf(held, await this.#rankFinder([held], freshness));
    if (ranks === 'unknown' || ranks === 'rejected') throw new ApiError('PLATFORM_ERROR', { message: RANK_UNKNOWN });
    return ranks.get(groupId) ?? [];
  }

  /**
   * Returns a function that finds the rank of a role that a user holds. Loads the roles of the groups for which that is
   * necessary.
   */
  async #rankFinder(
    all: readonly Holdings[],
    freshness?: Freshness,
  ): Promise<(holding: Holding) => number | undefined> {
    const held = all.flatMap((holdings) => (isKnown(holdings) ? holdings : []));
    const unranked = held.filter(({ rank }) => rank === undefined);
    const groupIds = [...new Set(unranked.map(({ groupId }) => groupId))];
    const roles = await Promise.all(groupIds.map((id) => resultOrUnknown(this.#groups.roles(id, freshness))));
    const known = roles.flatMap((of) => (of === 'unknown' || of === null ? [] : of));
    const ranks = new Map(known.map(({ id, rank }) => [id, rank]));
    return ({ roleId, rank }) => rank ?? ranks.get(roleId);
  }
}

const isKnown = (holdings: Holdings): holdings is readonly Holding[] => Array.isArray(holdings);

function ranksOf(holdings: Holdings, rankOf: (holding: Holding) => number | undefined): Ranks | Unknown | Rejected {
  if (!isKnown(holdings)) return holdings === 'rejected' ? holdings : 'unknown';
  const ranks = new Map<number, number[]>();
  for (const holding of holdings) {
    const rank = rankOf(holding);
    if (rank === undefined) return 'unknown';
    ranks.set(holding.groupId, [...(ranks.get(holding.groupId) ?? []), rank]);
  }
  return ranks;
}

/**
 * Queries the roles of users in Open Cloud: one call, and another one for every hundred memberships. If one of these
 * calls fails, the roles of all users in the batch are unknown. If the platform rejects a batch because of an account,
 * further calls find that account.
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

const userGroupsSchema = z.object({
  data: z.array(
    z.object({
      group: z.object({ id: z.int() }),
      role: z.object({ id: z.int(), rank: z.int().min(0).max(255) }),
    }),
  ),
});

/**
 * Queries the roles of users on the groups host, with one call per user. The host reports only the user's highest role
 * in each group.
 */
export const holdingsByUser = (host: PlatformHost): LoadHoldings => {
  const load = async (userId: number): Promise<readonly Holding[] | 'rejected'> => {
    const response = await host.get(`/v2/users/${userId}/groups/roles`);
    if (response.status === 400 && errorOf(response)?.code === UNKNOWN_USER) return [];
    if (isRejection(response)) return 'rejected';
    const { data } = host.expect(response, userGroupsSchema);
    return data.map(({ group, role }) => ({ groupId: group.id, roleId: role.id, rank: role.rank }));
  };
  return async (userIds) =>
    new Map(await Promise.all(userIds.map(async (id) => [id, await resultOrError(load(id))] as const)));
};

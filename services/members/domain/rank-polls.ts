import { withPurpose } from '#kit/context.ts';
import { ApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { type ClaimedItem, NO_LIMITS, type QueueDefinition } from '#kit/queue/definition.ts';
import { backoffMs } from '#kit/resilience/backoff.ts';
import type { GamePlatform } from '#platforms/game.ts';
import type { Binding, BindingsServiceService } from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { findSettings } from '../store/guild-settings.ts';
import { findKnownRanks, type Ranks, storeKnownRanks } from '../store/known-ranks.ts';
import { nextRankPoll, RANK_POLLS } from '../store/rank-polls.ts';
import type { RankPollTelemetry } from '../telemetry/rank-polls.ts';
import type { RoleTasks } from './role-tasks.ts';

export const RANK_POLL_QUEUE = 'rank-polls';
/** Members per page. The game platform returns the ranks of 50 users per call. */
const PAGE = 100;
/** The pause after a page, so that a round of a large guild does not use the whole rate limit of the game platform. */
const PAGE_PAUSE_MS = 1_000;
const LEASE_MS = 30_000;
const CONCURRENCY = 2;
const BACKOFF = { minMs: 2_000, maxMs: 300_000 };
/** The failed attempts after which a round starts over, in case its position is the cause. */
const MAX_FAILURES = 3;

interface PollData {
  position: string;
}

export interface RankPollsOptions {
  database: Database;
  lookup: GrpcClient<typeof LookupServiceService>;
  bindings: GrpcClient<typeof BindingsServiceService>;
  game: GamePlatform;
  roleTasks: Pick<RoleTasks, 'queueAll'>;
  telemetry: RankPollTelemetry;
  /** The minimum time in milliseconds from the start of a round through a guild's members to the next. */
  roundMs: number;
}

/**
 * The queue that notices changes of rank: the game platform does not report them. It reads the ranks of the linked
 * members of a guild page by page, compares them with those that it read before, and queues a role task for each member
 * whose ranks differ. An item's lease makes one process at a time read the members of a guild.
 */
export class RankPolls {
  readonly #options: RankPollsOptions;

  constructor(options: RankPollsOptions) {
    this.#options = options;
  }

  get definition(): QueueDefinition<PollData> {
    return {
      name: RANK_POLL_QUEUE,
      table: RANK_POLLS,
      ordered: false,
      concurrency: CONCURRENCY,
      leaseMs: LEASE_MS,
      handlerFinishes: true,
      retry: {
        delayMs: (attempts) => backoffMs(attempts, BACKOFF),
        isPermanent: () => false,
        // The rounds of one guild may fail because of its groups, so a failure pauses only that guild.
        isOutage: () => false,
        limits: NO_LIMITS,
      },
      handle: (item) => withPurpose('job', () => this.#poll(item)),
    };
  }

  /** Reads one page. The item ends if the guild no longer wants this; otherwise it becomes due again for the next page. */
  async #poll({ guildId, attempts, lease, data }: ClaimedItem<PollData>): Promise<void> {
    const { database, lookup, telemetry, roundMs } = this.#options;
    if (!(await findSettings(database, guildId)).syncOnRankChange) return;
    const position = attempts > MAX_FAILURES ? '' : data.position;
    const groupIds = await this.#groupsOf(guildId);
    const page =
      groupIds.length === 0
        ? { links: [], nextPosition: '' }
        : await lookup.listLinks({ guildId, updatedSince: 0, limit: PAGE, position, withUnlinked: false });
    const ranks = await this.#ranksOf(page.links, groupIds);
    const next = { guildId, lease, position: page.nextPosition, roundMs, pauseMs: PAGE_PAUSE_MS };
    const polled = await database.transaction(async (transaction) => {
      if (!(await nextRankPoll(transaction, next))) return undefined;
      const before = await findKnownRanks(transaction, guildId, [...ranks.keys()]);
      const changed = [...ranks]
        .filter(([chatId, now]) => isChanged(before.get(chatId), now))
        .map(([chatId]) => chatId);
      await storeKnownRanks(transaction, guildId, [...ranks.values()]);
      await this.#options.roleTasks.queueAll(transaction, guildId, changed, 'rank');
      return { changed: changed.length, read: ranks.size, all: page.links.length };
    });
    // Not in the transaction: a page whose commit fails is read and counted again.
    if (polled) telemetry.polled(polled);
  }

  /** Returns the groups whose ranks decide roles in the guild. */
  async #groupsOf(guildId: string): Promise<number[]> {
    const { bindings } = await this.#options.bindings.listBindings({ guildId });
    return [...new Set(bindings.flatMap(groupsIn))].sort((a, b) => a - b);
  }

  /** Returns the ranks of members by chat ID, without members whose ranks cannot be determined now. */
  async #ranksOf(links: readonly Link[], groupIds: readonly number[]): Promise<Map<string, Ranks>> {
    if (links.length === 0) return new Map();
    const found = await this.#options.game.ranks(
      links.map(({ gameId }) => gameId),
      groupIds,
    );
    const ranks = links.flatMap(({ chatId, gameId }): [string, Ranks][] => {
      const byGroup = found.get(gameId);
      if (byGroup === undefined || byGroup === 'unknown' || byGroup === 'rejected') return [];
      const entries = groupIds.map((groupId) => [groupId, [...(byGroup.get(groupId) ?? [])].sort((a, b) => a - b)]);
      return [[chatId, { chatId, gameId, ranks: Object.fromEntries(entries) }]];
    });
    const isUnavailable = ranks.length === 0 && links.every(({ gameId }) => found.get(gameId) !== 'rejected');
    if (isUnavailable) throw new ApiError('UNAVAILABLE', { message: 'The ranks of a whole page are not available' });
    return new Map(ranks);
  }
}

/** The groups whose ranks the binding or one of its further conditions names. */
const groupsIn = (binding: Binding): number[] =>
  [binding, ...binding.conditions].flatMap(({ target }) =>
    target?.$case === 'groupRank' ? [target.value.gameGroupId] : [],
  );

/**
 * True if a rank differs in a group that was read before, or if these are the first ranks since the link. A new group, or
 * another game account, is no change of rank: the binding or the link was changed, which has its own synchronisation.
 */
function isChanged(before: Ranks | undefined, now: Ranks): boolean {
  if (before === undefined || before.gameId !== now.gameId) return false;
  if (Object.keys(before.ranks).length === 0) return true;
  return Object.entries(now.ranks).some(([groupId, ranks]) => {
    const earlier = before.ranks[groupId];
    return earlier !== undefined && earlier.join() !== ranks.join();
  });
}

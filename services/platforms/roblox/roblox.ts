import type { Freshness } from '#kit/resilience/cache.ts';
import type { SharedRedis } from '../budget/shared-redis.ts';
import type { GamePlatformConfig } from '../config.ts';
import type {
  GameGroup,
  GameItem,
  GameKey,
  GamePlatform,
  GameUser,
  Rejected,
  Unknown,
  UnknownOrHidden,
} from '../game.ts';
import type { PlatformOptions } from '../http/host.ts';
import { OpenCloud } from './cloud.ts';
import { Groups } from './groups.ts';
import { robloxHosts } from './hosts.ts';
import { Items } from './items.ts';
import { readKey } from './key.ts';
import { Ownership, ownedByCloud, ownedByItem } from './ownership.ts';
import { holdingsByCloud, holdingsByUser, UserRanks } from './ranks.ts';
import { Users } from './users.ts';

export interface RobloxOptions extends PlatformOptions {
  config: GamePlatformConfig;
  /** Shares the call budgets among all processes. */
  shared: SharedRedis;
}

/**
 * Implements GamePlatform with Roblox's public web APIs, as documented in August 2026. With a key, ranks and ownership
 * come from Open Cloud; everything else comes from the anonymous hosts.
 */
export class Roblox implements GamePlatform {
  readonly #users: Users;
  readonly #groups: Groups;
  readonly #items: Items;
  readonly #ranks: UserRanks;
  readonly #ownership: Ownership;
  readonly #readKey: () => Promise<GameKey | null>;

  constructor({ config, ...options }: RobloxOptions) {
    const { clock } = options;
    const hosts = robloxHosts(config, options);
    const cloud = config.GAME_API_KEY === undefined ? undefined : new OpenCloud(hosts.apis, config.GAME_API_KEY);
    const key = config.GAME_API_KEY;
    this.#readKey = async () => (key === undefined ? null : readKey(hosts.apis, key));
    this.#users = new Users(hosts.users, clock);
    this.#groups = new Groups(hosts.groups, clock);
    this.#items = new Items(hosts, clock);
    const load = cloud ? holdingsByCloud(cloud, clock) : holdingsByUser(hosts.groups);
    this.#ranks = new UserRanks({ load, groups: this.#groups, clock });
    this.#ownership = new Ownership(cloud ? ownedByCloud(cloud) : ownedByItem(hosts.inventory), clock);
  }

  user(id: number): Promise<GameUser | null> {
    return this.#users.user(id);
  }

  users(ids: readonly number[]): Promise<Map<number, GameUser>> {
    return this.#users.users(ids);
  }

  userByName(name: string): Promise<GameUser | null> {
    return this.#users.byName(name);
  }

  group(id: number, freshness?: Freshness): Promise<GameGroup | null> {
    return this.#groups.group(id, freshness);
  }

  itemName(item: GameItem): Promise<string | null> {
    return this.#items.name(item);
  }

  ranks(
    userIds: readonly number[],
    groupIds: readonly number[],
    freshness?: Freshness,
  ): Promise<Map<number, ReadonlyMap<number, readonly number[]> | Unknown | Rejected>> {
    return this.#ranks.of(userIds, groupIds, freshness);
  }

  ranksIn(userId: number, groupId: number, freshness?: Freshness): Promise<readonly number[]> {
    return this.#ranks.ofOne(userId, groupId, freshness);
  }

  owns(
    userId: number,
    items: readonly GameItem[],
    options?: { maxAgeMs?: number | undefined },
  ): Promise<(boolean | UnknownOrHidden)[]> {
    return this.#ownership.of(userId, items, options);
  }

  /** Returns what the platform reports about the operator's key; null if there is none. Not cached. */
  key(): Promise<GameKey | null> {
    return this.#readKey();
  }

  createdAt(userId: number): Promise<Date | UnknownOrHidden> {
    return this.#users.createdAt(userId);
  }
}

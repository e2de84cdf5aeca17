import type { Freshness } from '#kit/resilience/cache.ts';

/** A user of the game platform. */
export interface GameUser {
  id: number;
  /** The user's name on the game platform, which can change. */
  name: string;
}

/** A group on the game platform and its roles, lowest rank first. Several roles may have the same rank. */
export interface GameGroup {
  id: number;
  name: string;
  roles: { name: string; rank: number }[];
}

/** The kinds of items that a user of the game platform can own. */
export type ItemKind = 'gamepass' | 'asset' | 'badge';

export interface GameItem {
  kind: ItemKind;
  id: number;
}

/**
 * The value of a fact that the game platform could not be queried for (429, failure, timeout). A later attempt may
 * succeed, and no role changes because of this value.
 */
export type Unknown = 'unknown';
/**
 * The value of a fact about an account if the platform rejects every request that names the account. A retry does not
 * help.
 */
export type Rejected = 'rejected';
/**
 * `hidden` is the value of a fact that the platform does not disclose: of a private inventory, or of a user that does
 * not exist.
 */
export type UnknownOrHidden = Unknown | 'hidden';

/** What the game platform reports about the operator's key. */
export interface GameKey {
  /** False for a key that is disabled, expired or unknown. */
  isValid: boolean;
  /** When the key expires, in Unix milliseconds; null if it has no end. A key expires after 60 days without use, too. */
  expiresAt: number | null;
  /** True if the key has the right, in this universe if one is given. */
  allows: (scope: string, operation: string, universeId?: number) => boolean;
}

/**
 * The functions of the game platform that the services use. Every function that cannot return `unknown` throws
 * PLATFORM_ERROR if the platform rejects the request or sends an unreadable response, TIMEOUT if the response is too
 * slow, and UNAVAILABLE while the platform limits the rate or keeps failing.
 */
export interface GamePlatform {
  /** Returns the user with this ID, or null if there is none. Cached for up to an hour. */
  user(id: number): Promise<GameUser | null>;
  /**
   * Returns the users with these IDs, without those that do not exist. Queries 100 users per request; results are cached
   * for up to an hour.
   */
  users(ids: readonly number[]): Promise<Map<number, GameUser>>;
  /** Returns the user with exactly this name or former name, ignoring case; null if there is none. Not cached. */
  userByName(name: string): Promise<GameUser | null>;
  /** Returns the group with this ID and its roles, or null if there is none. Cached for up to a minute. */
  group(id: number, freshness?: Freshness): Promise<GameGroup | null>;
  /** Returns the name of an item, or null if there is no such item. Cached for up to an hour. */
  itemName(item: GameItem): Promise<string | null>;
  /**
   * Returns, for each user, the ranks that the user holds in the given groups; a group in which the user has no rank is
   * left out. Queries 50 users per request where the platform supports it; results are cached for 30 s. The groups have
   * to be given because the platform returns roles, and only roles of these groups are resolved to ranks: users are in
   * dozens of groups.
   */
  ranks(
    userIds: readonly number[],
    groupIds: readonly number[],
    freshness?: Freshness,
  ): Promise<Map<number, ReadonlyMap<number, readonly number[]> | Unknown | Rejected>>;
  /** Returns the ranks that a user holds in one group; empty if the user is not in the group. Cached for up to 30 s. */
  ranksIn(userId: number, groupId: number, freshness?: Freshness): Promise<readonly number[]>;
  /**
   * Returns, for each item, whether the user owns the item, in a single request where the platform supports it. Not
   * cached for callers, except for `maxAgeMs` if that is given; cached for up to a minute for background work and for up to
   * ten minutes for jobs.
   */
  owns(
    userId: number,
    items: readonly GameItem[],
    options?: { maxAgeMs?: number | undefined },
  ): Promise<(boolean | UnknownOrHidden)[]>;
  /** Returns when the user's account was created. Cached for up to an hour. */
  createdAt(userId: number): Promise<Date | UnknownOrHidden>;
}

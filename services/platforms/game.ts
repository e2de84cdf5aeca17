/** A user of the game platform. */
export interface GameUser {
  id: number;
  /** The user name, which can change. */
  name: string;
}

/** A group and its roles, lowest rank first. Several roles may have the same rank. */
export interface GameGroup {
  id: number;
  name: string;
  roles: { name: string; rank: number }[];
}

/** The kinds of items that a user can own. */
export type ItemKind = 'gamepass' | 'asset' | 'badge';

export interface GameItem {
  kind: ItemKind;
  id: number;
}

/**
 * The platform could not be queried (429, failure, timeout); a later attempt may succeed. No role changes because of
 * it.
 */
export type Unknown = 'unknown';
/** The platform rejects every request that names the account, so a retry does not help. */
export type Rejected = 'rejected';
/** `hidden` if the platform does not disclose the fact: a private inventory, or a user that does not exist. */
export type UnknownOrHidden = Unknown | 'hidden';

/**
 * The functions of the game platform that the services use. Every function that cannot return `unknown` throws
 * PLATFORM_ERROR if the platform rejects the request or sends an unreadable response, TIMEOUT if the response is too
 * slow, and UNAVAILABLE while the platform limits the rate or keeps failing.
 */
export interface GamePlatform {
  /** Returns null if there is no such user. Cached for up to an hour. */
  user(id: number): Promise<GameUser | null>;
  /** Returns null if there is no such group. Cached for up to a minute. */
  group(id: number): Promise<GameGroup | null>;
  /** Returns null if there is no such item. Cached for up to an hour. */
  itemName(item: GameItem): Promise<string | null>;
  /**
   * For each user, the ranks that the user holds in the given groups; a group in which the user has no rank is left
   * out. Queries 50 users per request where the platform supports it; results are cached for 30 s. The groups have to
   * be given because the platform returns roles, and only roles of these groups are resolved to ranks: users are in
   * dozens of groups.
   */
  ranks(
    userIds: readonly number[],
    groupIds: readonly number[],
  ): Promise<Map<number, ReadonlyMap<number, readonly number[]> | Unknown | Rejected>>;
  /** The ranks that a user holds in one group, empty if the user is not in it. Cached for up to 30 s. */
  ranksIn(userId: number, groupId: number): Promise<readonly number[]>;
  /**
   * For each item, whether the user owns it, in a single request where the platform supports it. Not cached for
   * callers; cached for up to a minute for background work and for up to ten minutes for jobs.
   */
  owns(userId: number, items: readonly GameItem[]): Promise<(boolean | UnknownOrHidden)[]>;
  /** The time at which the account was created. Cached for up to an hour. */
  createdAt(userId: number): Promise<Date | UnknownOrHidden>;
}

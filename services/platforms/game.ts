/** A user of the game platform. */
export interface GameUser {
  id: number;
  /** The name by which others know the user; it can change. */
  name: string;
}

/** A group, and its roles from the lowest rank up; several roles may have one rank. */
export interface GameGroup {
  id: number;
  name: string;
  roles: { name: string; rank: number }[];
}

/** What can be owned. */
export type ItemKind = 'gamepass' | 'asset' | 'badge';

export interface GameItem {
  kind: ItemKind;
  id: number;
}

/** What can't be known now (429, a failure, a time-out), but may be if asked again. It neither gives nor takes a role. */
export type Unknown = 'unknown';
/** The platform rejects calls that name the account: nothing can be known of it, also if asked again. */
export type Rejected = 'rejected';
/** The same as unknown, or what the platform does not tell at all: a private inventory, of a user that does not exist. */
export type Untold = Unknown | 'hidden';

/**
 * What we ask of the game platform. Errors of every call that can't answer `unknown`: PLATFORM_ERROR when it refuses or
 * gives nothing readable, TIMEOUT when it is too slow, UNAVAILABLE while it wants no calls or has kept failing.
 */
export interface GamePlatform {
  /** null when there is no such user. Up to an hour old. */
  user(id: number): Promise<GameUser | null>;
  /** null when there is no such group. Up to a minute old. */
  group(id: number): Promise<GameGroup | null>;
  /** Its name; null when there is no such item. Up to an hour old. */
  itemName(item: GameItem): Promise<string | null>;
  /**
   * For each user, by group, the ranks that the user holds in those of the groups; one in which there are none is left
   * out. 50 users a call where the platform can, and no call for what is cached (30 s). The groups are named because the
   * platform tells roles, of which only those need to be looked up: people are in dozens of groups.
   */
  ranks(
    userIds: readonly number[],
    groupIds: readonly number[],
  ): Promise<Map<number, ReadonlyMap<number, readonly number[]> | Unknown | Rejected>>;
  /** The ranks that a user holds in a group, none when not in it. Up to 30 s old. */
  ranksIn(userId: number, groupId: number): Promise<readonly number[]>;
  /**
   * For each of the items whether the user owns it: one call for all of them where the platform can. In the background
   * up to a minute old, in jobs up to ten.
   */
  owns(userId: number, items: readonly GameItem[]): Promise<(boolean | Untold)[]>;
  /** When the account was made. Up to an hour old. */
  createdAt(userId: number): Promise<Date | Untold>;
}

/** A role of a guild on the chat platform. */
export interface ChatRole {
  id: string;
  name: string;
  /** Higher stands above lower. */
  position: number;
  /** 0xRRGGBB; 0 for none. */
  color: number;
  /** Belongs to an integration: nobody can give it. */
  managed: boolean;
  /** Whether it stands below the bot's own highest role. */
  belowBot: boolean;
  /**
   * Whether the bot can assign and remove it: the role is not managed and is below the bot's own highest role, and the
   * bot has the permission Manage Roles.
   */
  assignable: boolean;
}

/** Who is in a guild. */
export interface ChatMember {
  chatId: string;
  username: string;
  nickname: string | null;
  /** IDs, without that of `@everyone`. */
  roles: string[];
  /** Unix seconds; null where the platform does not tell. */
  joinedAt: number | null;
}

/** Who may do what in a guild. */
export interface ChatStanding {
  /** Whose nickname nobody else can change. */
  ownerId: string | null;
  /** Whether the bot may change the nicknames of members below it. */
  managesNicknames: boolean;
}

/** Members in the order of their chat IDs. */
export interface ChatMemberPage {
  members: ChatMember[];
  /** What the next page begins after; null on the last. */
  next: string | null;
}

/** What became of a change of a member; all but `done` are refusals, after which nothing has changed. */
export type ChatChange = 'done' | 'no such member' | 'no such role' | 'not permitted';

/** A change of a member: whose, and why, for the guild's audit log (at most 512 characters). */
export interface ChatChangeRequest {
  guildId: string;
  chatId: string;
  reason: string;
  /** Awaited when the call's turn has come; what it throws is thrown, and nothing is changed. */
  atLast?: () => Promise<void>;
}

/**
 * What we ask of the chat platform. Errors of every call: PLATFORM_ERROR when it refuses or gives nothing readable,
 * TIMEOUT when it is too slow, UNAVAILABLE while it wants no calls or has kept failing.
 */
export interface ChatPlatform {
  /**
   * The guild's roles, the highest first, without `@everyone`; up to a minute old, unless they are to be fresh.
   * PLATFORM_ERROR also where the bot is not in the guild; its message says what to do.
   */
  roles(guildId: string, options?: { fresh?: boolean }): Promise<ChatRole[]>;
  /** Up to a minute old. PLATFORM_ERROR also where the bot is not in the guild. */
  standing(guildId: string): Promise<ChatStanding>;
  /** As it is now; null when there is no such member. The bot itself is none. */
  member(guildId: string, chatId: string): Promise<ChatMember | null>;
  /**
   * Up to 1,000 members whose IDs are above `after` (`0` for the first), without the bot; up to 10 s old, unless they
   * are to be fresh.
   */
  members(guildId: string, after: string, options?: { fresh?: boolean }): Promise<ChatMemberPage>;
  /** Gives or takes one role. Whoever calls has checked that the bot can: the platform counts calls that it refuses. */
  changeRole(change: ChatChangeRequest & { roleId: string; give: boolean }): Promise<ChatChange>;
  /** At most 32 characters; null takes the nickname away. */
  changeNickname(change: ChatChangeRequest & { nickname: string | null }): Promise<ChatChange>;
}

import { ApiError } from '#kit/errors.ts';

/** The bot is not in a guild of the chat platform, or may not read it. */
export class BotNotInGuild extends ApiError {
  constructor(guildId: string, more = '') {
    const message = `The bot is not in the guild ${guildId}, or may not read it: invite it with the scope "bot"`;
    super('PLATFORM_ERROR', { message: message + more });
  }
}

/** A role of a guild on the chat platform. */
export interface ChatRole {
  id: string;
  name: string;
  /** The position in the guild's role list. A role with a higher position ranks above a role with a lower position. */
  position: number;
  /** The color of the role as 0xRRGGBB; 0 for no color. */
  color: number;
  /** True if the role belongs to an integration. Nobody can assign such a role. */
  managed: boolean;
  /** True if the role ranks below the bot's own highest role. */
  belowBot: boolean;
  /** True for the bot's own highest role. */
  isBotRole: boolean;
  /**
   * True if the bot can assign and remove the role: the role is not managed and is below the bot's own highest role,
   * and the bot has the permission Manage Roles.
   */
  assignable: boolean;
}

/** A member of a guild on the chat platform. */
export interface ChatMember {
  chatId: string;
  username: string;
  nickname: string | null;
  /** The IDs of the member's roles, without the role `@everyone`. */
  roles: string[];
  /** When the member joined the guild, in Unix seconds; null if the platform does not report the time. */
  joinedAt: number | null;
  /** Until when the member is timed out, which means muted in the whole guild; null if the member is not. */
  timeoutUntil: Date | null;
}

/** The owner of a guild on the chat platform, and the bot's rights there. */
export interface ChatStanding {
  /** The chat ID of the guild's owner. Only the owner can change the owner's nickname. */
  ownerId: string | null;
  /** True if the bot may change the nicknames of members whose highest role is below its own. */
  managesNicknames: boolean;
  /** True if the bot may assign roles that are below its own highest role. */
  managesRoles: boolean;
  /** True if the bot may time out members whose highest role is below its own. */
  timesOutMembers: boolean;
  /** True if the bot may create invites, unless a channel forbids it. */
  createsInvites: boolean;
}

/** A page of a guild's members, ordered by chat ID. */
export interface ChatMemberPage {
  members: ChatMember[];
  /** The chat ID after which the next page begins; null on the last page. */
  next: string | null;
}

/**
 * The outcome of changing a member's role or nickname. Every outcome except `done` is a rejection that changed nothing.
 */
export type ChatChange = 'done' | 'no such member' | 'no such role' | 'not permitted';

/** A request to change a member's role or nickname. */
export interface ChatChangeRequest {
  guildId: string;
  chatId: string;
  /** The reason that the chat platform shows in its audit log of the guild, at most 512 characters. */
  reason: string;
  /**
   * Awaited immediately before the request is sent. If this function throws, its error is thrown and no request is
   * sent.
   */
  beforeCall?: () => Promise<void>;
}

/** A request to create an invite that only one account can accept, once. */
export interface ChatInviteRequest {
  guildId: string;
  /** The channel that the invite opens. */
  channelId: string;
  /** The account that can accept the invite. */
  chatId: string;
  /** The roles that the account gets when it accepts. The caller must have checked that they are assignable. */
  roleIds: readonly string[];
  /** How long the invite is valid, in seconds, at most seven days. */
  maxAgeSeconds: number;
  /** The reason that the chat platform shows in its audit log of the guild, at most 512 characters. */
  reason: string;
}

export interface ChatInvite {
  url: string;
  /** null if the platform does not report it. */
  expiresAt: Date | null;
}

/** Why the chat platform creates no invite. */
export type ChatInviteRejection =
  | 'no such channel'
  | 'no such role'
  | 'no such account'
  | 'not permitted'
  | 'too many invites';

/** Creates invites on the chat platform. Its function throws the same errors as those of ChatPlatform. */
export interface ChatInvites {
  createInvite(request: ChatInviteRequest): Promise<ChatInvite | ChatInviteRejection>;
}

/** A request to add an account to a guild, which its person allows with an access token of the bot's application. */
export interface ChatJoinRequest extends ChatChangeRequest {
  accessToken: string;
  /** The roles that the account gets. The caller must have checked that they are assignable. */
  roleIds: readonly string[];
  /** The nickname that the account gets; undefined for none. Needs the permission to manage nicknames. */
  nickname: string | undefined;
}

/** The outcome of adding an account to a guild. A member stays unchanged. */
export type ChatJoin =
  | 'joined'
  | 'is member'
  | 'no such role'
  | 'not permitted'
  | 'not allowed by the person'
  | 'banned'
  | 'too many guilds';

/** Adds accounts to guilds. Its function throws the same errors as those of ChatPlatform. */
export interface ChatJoins {
  addMember(request: ChatJoinRequest): Promise<ChatJoin>;
}

/** The application to which the bot belongs. */
export interface ChatApplicationState {
  id: string;
  /** The key with which the platform signs interactions, in hexadecimal digits; null if the platform does not tell. */
  publicKey: string | null;
  /** True if the application may receive the members of guilds (a privileged intent). */
  receivesMembers: boolean;
  /** The address to which the platform sends interactions; null if none is set. */
  interactionsUrl: string | null;
}

/** A slash command as it is registered at the chat platform. */
export interface ChatSlashCommand {
  name: string;
  description: string;
  /** The permissions that a member needs to see it, as bits; null for everybody. */
  permissions: bigint | null;
  options: readonly ChatSlashOption[];
}

/** An option of a slash command. */
export interface ChatSlashOption {
  name: string;
  description: string;
  kind: 'member' | 'integer' | 'text';
  required: boolean;
  /** The maximum length of a text. */
  maxLength?: number;
}

/** The bot's application on the chat platform. Its functions throw the same errors as those of ChatPlatform. */
export interface ChatApplication {
  read(): Promise<ChatApplicationState>;
  /** Replaces all slash commands of the application, in all guilds. */
  registerCommands(applicationId: string, commands: readonly ChatSlashCommand[]): Promise<void>;
}

/**
 * The functions of the chat platform that the services use. Every function throws PLATFORM_ERROR if the platform
 * rejects the request or sends an unreadable response, TIMEOUT if the response is too slow, and UNAVAILABLE while the
 * platform limits the bot's rate or keeps failing.
 */
export interface ChatPlatform {
  /**
   * Returns the guild's roles, highest first, without `@everyone`. The list may be cached for up to a minute unless
   * `fresh` is set. With `mayBeOld` it may be older while the platform cannot be called. Throws BotNotInGuild, a
   * PLATFORM_ERROR, if the bot is not in the guild; the message says what to do.
   */
  roles(guildId: string, options?: { fresh?: boolean; mayBeOld?: boolean }): Promise<ChatRole[]>;
  /**
   * Returns the guild's owner and the bot's rights there, cached for up to a minute unless `fresh` is set. Throws
   * BotNotInGuild if the bot is not in the guild.
   */
  standing(guildId: string, options?: { fresh?: boolean }): Promise<ChatStanding>;
  /**
   * Returns a member of the guild, as it is now; null if there is no such member, and for the bot itself. With `mayBeOld`
   * the member may be some seconds old, and older while the platform cannot be called.
   */
  member(guildId: string, chatId: string, options?: { mayBeOld?: boolean }): Promise<ChatMember | null>;
  /**
   * Returns up to 1,000 members whose IDs are above `after` (`0` for the first page), without the bot. A page may be
   * cached for up to 10 s unless `fresh` is set.
   */
  members(guildId: string, after: string, options?: { fresh?: boolean }): Promise<ChatMemberPage>;
  /** Returns up to `limit` members whose username or nickname begins with the text, without the bot. Not cached. */
  search(guildId: string, text: string, limit: number): Promise<ChatMember[]>;
  /**
   * Assigns (`give`) or removes one role of a member. The caller must have checked that the role is assignable, because
   * the platform counts rejected requests.
   */
  changeRole(change: ChatChangeRequest & { roleId: string; give: boolean }): Promise<ChatChange>;
  /** Sets the nickname of a member, at most 32 characters; null removes the nickname. */
  changeNickname(change: ChatChangeRequest & { nickname: string | null }): Promise<ChatChange>;
  /** Times a member out, which mutes the member in the whole guild for at most 28 days; null ends the timeout. */
  changeTimeout(change: ChatChangeRequest & { until: Date | null }): Promise<ChatChange>;
}

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
  /** Whether the bot can give and take it: not managed, and below the bot's own highest role. */
  assignable: boolean;
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
}

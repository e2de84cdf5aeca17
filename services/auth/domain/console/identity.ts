import type { GuildRole } from '#proto/console/roles.ts';

/** The ways to sign in to the console: the chat platform, an OpenID Connect provider, or a one-time link. */
export type Provider = 'chat' | 'oidc' | 'link';

/** A guild in which a person has a role according to the provider. */
export interface PlatformGuild {
  guildId: string;
  /** Empty if the name is unknown. */
  name: string;
  role: GuildRole;
}

/** What a provider says about the rights of a person. */
export interface PlatformRights {
  guilds: readonly PlatformGuild[];
  /** True if the person has the role `admin` in every guild. */
  isOperator: boolean;
  /**
   * What the provider needs to read the rights again, such as tokens; null if they are never read again. The sessions
   * store it encrypted.
   */
  credentials: Buffer | null;
}

/** A person who has just proved who they are. */
export interface SignedInPerson extends PlatformRights {
  /** A chat ID, `oidc:<subject>`, or `link:<id>`. */
  id: string;
  name: string;
  provider: Provider;
}

/** The browser with which a person signs in. */
export interface SignInRequest {
  address: string;
  userAgent: string;
  /** The path of the app to which the browser returns. */
  returnTo: string;
}

/** A session that was just created. */
export interface CreatedSession {
  /** The token that the browser keeps. Only its hash is stored, so the token cannot be shown again. */
  token: string;
  expiresAt: Date;
  returnTo: string;
}

/** Reads the rights of persons again from the provider with which they signed in. */
export interface PlatformRoles {
  /**
   * Returns the current rights; undefined if the person has withdrawn the grant. Throws the ApiError of a failing
   * dependency if the provider does not respond.
   */
  read(provider: Provider, credentials: Buffer): Promise<PlatformRights | undefined>;
}

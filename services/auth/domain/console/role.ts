import { GUILD_ROLES, type GuildRole } from '#proto/console/roles.ts';

/** The role that operators of the installation have in every guild. */
const OPERATOR_ROLE: GuildRole = 'admin';

/** What is known about a person in one guild. */
export interface RightsInGuild {
  isOperator: boolean;
  /** The role according to the provider with which the person signed in. */
  platformRole: GuildRole | null;
  /** The role that the person was given here. */
  givenRole: GuildRole | null;
  /** True if the installation knows the guild. */
  isKnown: boolean;
  isSuspended: boolean;
}

/**
 * Returns the role of a person in a guild: the highest of those that apply; undefined if there is none, or if nobody may
 * open the guild.
 */
export function roleIn(rights: RightsInGuild, isAnyGuildAllowed: boolean): GuildRole | undefined {
  const { isOperator, platformRole, givenRole, isKnown, isSuspended } = rights;
  if (isSuspended) return undefined;
  if (!isKnown && !isAnyGuildAllowed && givenRole === null) return undefined;
  const roles = [isOperator ? OPERATOR_ROLE : null, platformRole, givenRole];
  return GUILD_ROLES.findLast((role) => roles.includes(role));
}

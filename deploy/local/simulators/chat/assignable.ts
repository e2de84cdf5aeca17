import type { ChatGuild } from '../world.ts';
import { ADMINISTRATOR, botMay, MANAGE_ROLES } from '../world.ts';
import type { ChatMember } from '../world-schema.ts';
import { refuse } from './errors.ts';
import { highestRole, isBelow } from './guilds.ts';

/** Throws unless the bot may assign a role: it needs MANAGE_ROLES, and the role must be unmanaged and below its highest. */
export function requireAssignable(guild: ChatGuild, roleId: string): void {
  if (roleId === guild.data.id) refuse(400, 50028, 'Invalid Role');
  const role = guild.roles.get(roleId) ?? refuse(404, 10011, 'Unknown Role');
  const bot = guild.members.get(guild.data.bot.id) as ChatMember;
  requirePermission(guild, MANAGE_ROLES);
  if (role.managed || !isBelow(role, highestRole(guild, bot))) refuse(403, 50013, 'Missing Permissions');
}

/** Throws unless the bot has a permission. */
export function requirePermission(guild: ChatGuild, permission: bigint): void {
  if (!botMay(guild, permission)) refuse(403, 50013, 'Missing Permissions');
}

/** Throws if the member is the owner, or has a role as high as the bot's. */
export function requireInReach(guild: ChatGuild, member: ChatMember): void {
  const bot = guild.members.get(guild.data.bot.id) as ChatMember;
  const outOfReach = !isBelow(highestRole(guild, member), highestRole(guild, bot));
  if (member.id === guild.data.owner_id || outOfReach) refuse(403, 50013, 'Missing Permissions');
}

/** True if one of the member's roles makes them an administrator. */
export function isAdministrator(guild: ChatGuild, member: ChatMember): boolean {
  return member.roles.some((id) => BigInt(guild.roles.get(id)?.permissions ?? '0') & ADMINISTRATOR);
}

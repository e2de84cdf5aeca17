import type { Answer, Call } from '../routes.ts';
import { ok } from '../routes.ts';
import type { ChatGuild, World } from '../world.ts';
import { compareIds } from '../world.ts';
import type { ChatMember, ChatRole } from '../world-schema.ts';
import { refuse, refuseField } from './errors.ts';
import type { ChatRoute } from './limits.ts';

/** Routes for guilds, their roles, and the bot's user. `person` answers who a bearer token belongs to. */
export function guildRoutes(world: World, person: (call: Call) => Answer): ChatRoute[] {
  const self = (call: Call) => (isOfPerson(call) ? person(call) : ok(viewBot(world)));
  return [
    { method: 'GET', pattern: '/api/v10/users/@me', limit: 'guild-read', handle: self },
    {
      method: 'GET',
      pattern: '/api/v10/guilds/:guild',
      limit: 'guild-read',
      handle: (call) => ok(viewGuild(findGuild(world, call))),
    },
    {
      method: 'GET',
      pattern: '/api/v10/guilds/:guild/roles',
      limit: 'guild-read',
      handle: (call) => ok(viewRoles(findGuild(world, call))),
    },
    {
      method: 'GET',
      pattern: '/api/v10/guilds/:guild/roles/member-counts',
      limit: 'guild-read',
      handle: (call) => ok(countRoles(findGuild(world, call))),
    },
    {
      method: 'GET',
      pattern: '/api/v10/guilds/:guild/channels',
      limit: 'guild-read',
      handle: (call) => ok(viewChannels(findGuild(world, call))),
    },
  ];
}

/** The channels of a guild in the platform's format. */
export function viewChannels({ data }: ChatGuild) {
  return data.channels.map(({ id, name }, position) => ({ id, name, type: 0, guild_id: data.id, position }));
}

/** A path parameter that must be a snowflake. */
export function snowflake(call: Call, name: string): string {
  const value = call.params[name] ?? '';
  if (!/^[0-9]{1,20}$/.test(value))
    refuseField(`${name}_id`, 'NUMBER_TYPE_COERCE', `Value "${value}" is not snowflake.`);
  return value;
}

/** The guild in the path. */
export function findGuild(world: World, call: Call): ChatGuild {
  return world.guilds.get(snowflake(call, 'guild')) ?? refuse(404, 10004, 'Unknown Guild');
}

/** Returns the bot. Every simulated guild has the same one, so that of the first guild is returned. */
export function tokenBot(world: World): ChatGuild['data']['bot'] {
  return world.data.chat.guilds[0]?.bot ?? refuse(401, 0, '401: Unauthorized');
}

/** A member's highest role, if it has any except @everyone. */
export function highestRole(guild: ChatGuild, member: ChatMember): ChatRole | undefined {
  const roles = member.roles.flatMap((id) => guild.roles.get(id) ?? []);
  return roles.reduce<ChatRole | undefined>((high, role) => (!high || isBelow(high, role) ? role : high), undefined);
}

/** True if a role is lower than another; at the same position the older role is higher. Undefined stands for @everyone. */
export function isBelow(role: ChatRole | undefined, other: ChatRole | undefined): boolean {
  if (!other) return false;
  if (!role) return true;
  if (role.position !== other.position) return role.position < other.position;
  return compareIds(role.id, other.id) > 0;
}

/** True if a request is made for a person who signed in, not by the bot. */
export const isOfPerson = ({ headers }: Call): boolean => headers.authorization?.startsWith('Bearer ') === true;

function viewBot(world: World) {
  return viewUser({ ...tokenBot(world), global_name: null }, true);
}

/** A user in the platform's format. */
export function viewUser(user: Pick<ChatMember, 'id' | 'username' | 'global_name'>, bot: boolean) {
  const { id, username, global_name } = user;
  return { id, username, global_name, avatar: null, discriminator: '0', public_flags: 0, flags: 0, bot };
}

/** A guild in the platform's format. */
export function viewGuild(guild: ChatGuild) {
  const { id, name, owner_id } = guild.data;
  return { id, name, owner_id, icon: null, roles: viewRoles(guild) };
}

/** All roles of a guild with @everyone, in the platform's format. */
export function viewRoles(guild: ChatGuild) {
  const { id, roles } = guild.data;
  const everyone = { id, name: '@everyone', position: 0, managed: false, color: 0, permissions: '1024' };
  return [everyone, ...roles].map((role) => viewRole(guild, role));
}

/** A role in the platform's format. */
export function viewRole({ data }: ChatGuild, role: ChatRole) {
  return {
    ...role,
    colors: { primary_color: role.color, secondary_color: null, tertiary_color: null },
    hoist: false,
    icon: null,
    unicode_emoji: null,
    mentionable: false,
    flags: 0,
    ...(data.bot.roles.includes(role.id) && role.managed && { tags: { bot_id: data.bot.id } }),
  };
}

function countRoles(guild: ChatGuild): Record<string, number> {
  const counts = new Map(guild.data.roles.map((role) => [role.id, 0]));
  for (const member of guild.sorted) for (const id of member.roles) counts.set(id, (counts.get(id) ?? 0) + 1);
  return Object.fromEntries(counts);
}

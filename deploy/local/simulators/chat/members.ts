import type { Answer, Call } from '../routes.ts';
import { ok } from '../routes.ts';
import type { ChatGuild, World } from '../world.ts';
import { botMay, compareIds, MANAGE_NICKNAMES, MANAGE_ROLES } from '../world.ts';
import type { ChatMember } from '../world-schema.ts';
import type { AuditLog } from './audit.ts';
import { readReason } from './audit.ts';
import { refuse, refuseField } from './errors.ts';
import { findGuild, highestRole, isBelow, snowflake, tokenBot, viewUser } from './guilds.ts';
import type { ChatRoute } from './limits.ts';

const MAX_NICKNAME = 32;
const largestPage = 1000;

/** Routes for members, nicknames and member roles. */
export function memberRoutes(world: World, audit: AuditLog): ChatRoute[] {
  const members = '/api/v10/guilds/:guild/members';
  const setRole = (call: Call) => changeRole(world, audit, call);
  return [
    { method: 'GET', pattern: members, limit: 'member-list', handle: (call) => listMembers(world, call) },
    { method: 'GET', pattern: `${members}/search`, limit: 'member-search', handle: (call) => search(world, call) },
    { method: 'GET', pattern: `${members}/:user`, limit: 'member-read', handle: (call) => getMember(world, call) },
    {
      method: 'PATCH',
      pattern: `${members}/:user`,
      limit: 'member-edit',
      handle: (call) => editMember(world, audit, call),
    },
    { method: 'PUT', pattern: `${members}/:user/roles/:role`, limit: 'member-role', handle: setRole },
    { method: 'DELETE', pattern: `${members}/:user/roles/:role`, limit: 'member-role', handle: setRole },
  ];
}

function viewMember(guild: ChatGuild, member: ChatMember) {
  return {
    user: viewUser(member, member.id === guild.data.bot.id),
    nick: member.nick,
    avatar: null,
    banner: null,
    roles: member.roles,
    // The platform uses microseconds and an offset, never a Z.
    joined_at: new Date(member.joined_at).toISOString().replace('Z', '000+00:00'),
    premium_since: null,
    communication_disabled_until: null,
    deaf: false,
    mute: false,
    pending: false,
    flags: 0,
  };
}

function findMember(world: World, guild: ChatGuild, call: Call): ChatMember {
  const id = snowflake(call, 'user');
  const isBot = world.data.chat.guilds.length > 0 && id === tokenBot(world).id;
  return guild.members.get(isBot ? guild.data.bot.id : id) ?? refuse(404, 10007, 'Unknown Member');
}

function getMember(world: World, call: Call): Answer {
  const guild = findGuild(world, call);
  return ok(viewMember(guild, findMember(world, guild, call)));
}

function pageSize(call: Call): number {
  const text = call.query.get('limit') ?? '1';
  const size = Number(text);
  if (!/^[0-9]+$/.test(text) || size < 1 || size > largestPage)
    refuseField('limit', 'NUMBER_TYPE_MAX', `int value should be between 1 and ${largestPage}.`);
  return size;
}

function listMembers(world: World, call: Call): Answer {
  const guild = findGuild(world, call);
  const after = call.query.get('after') ?? '0';
  if (!/^[0-9]{1,20}$/.test(after)) refuseField('after', 'NUMBER_TYPE_COERCE', `Value "${after}" is not snowflake.`);
  const limit = pageSize(call);
  if (!guild.data.bot.members_intent) refuse(403, 50001, 'Missing Access');
  const start = firstAfter(guild.sorted, after);
  return ok(guild.sorted.slice(start, start + limit).map((member) => viewMember(guild, member)));
}

/** The index of the first member whose ID is greater than `after`. */
function firstAfter(sorted: ChatMember[], after: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const member = sorted[middle] as ChatMember;
    if (compareIds(member.id, after) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}

function search(world: World, call: Call): Answer {
  const guild = findGuild(world, call);
  const query = (call.query.get('query') ?? '').toLowerCase();
  if (query === '') refuseField('query', 'BASE_TYPE_REQUIRED', 'This field is required');
  const limit = pageSize(call);
  const matches = (name: string | null) => name?.toLowerCase().startsWith(query);
  const found = guild.sorted.filter((member) => matches(member.username) || matches(member.nick));
  return ok(found.slice(0, limit).map((member) => viewMember(guild, member)));
}

/** Throws unless the bot may assign a role: it needs MANAGE_ROLES, and the role must be unmanaged and below its highest. */
function requireAssignable(guild: ChatGuild, roleId: string): void {
  if (roleId === guild.data.id) refuse(400, 50028, 'Invalid Role');
  const role = guild.roles.get(roleId) ?? refuse(404, 10011, 'Unknown Role');
  const bot = guild.members.get(guild.data.bot.id) as ChatMember;
  if (!botMay(guild, MANAGE_ROLES)) refuse(403, 50013, 'Missing Permissions');
  if (role.managed || !isBelow(role, highestRole(guild, bot))) refuse(403, 50013, 'Missing Permissions');
}

function changeRole(world: World, audit: AuditLog, call: Call): Answer {
  const guild = findGuild(world, call);
  const member = findMember(world, guild, call);
  const roleId = snowflake(call, 'role');
  requireAssignable(guild, roleId);
  const reason = readReason(call);
  const give = call.method === 'PUT';
  const changed = member.roles.includes(roleId) !== give;
  if (changed) member.roles = give ? [...member.roles, roleId] : member.roles.filter((id) => id !== roleId);
  audit.add(call, reason, { [give ? '$add' : '$remove']: roleId }, changed);
  return { status: 204 };
}

function editMember(world: World, audit: AuditLog, call: Call): Answer {
  const guild = findGuild(world, call);
  const member = findMember(world, guild, call);
  const form = (call.body ?? {}) as Record<string, unknown>;
  const nick = 'nick' in form ? readNick(guild, member, form['nick']) : member.nick;
  const roles = 'roles' in form ? readRoles(guild, member, form['roles']) : member.roles;
  const reason = readReason(call);
  const changed = nick !== member.nick || roles.join() !== member.roles.join();
  audit.add(call, reason, { ...('nick' in form && { nick }), ...('roles' in form && { roles }) }, changed);
  Object.assign(member, { nick, roles });
  return ok(viewMember(guild, member));
}

/** The new nickname, or null to remove it. The bot cannot change the owner or members whose role is as high as its own. */
function readNick(guild: ChatGuild, member: ChatMember, nick: unknown): string | null {
  if (nick !== null && typeof nick !== 'string') refuseField('nick', 'BASE_TYPE_STRING', 'Must be a string.');
  if (nick !== null && Array.from(nick).length > MAX_NICKNAME)
    refuseField('nick', 'BASE_TYPE_BAD_LENGTH', `Must be ${MAX_NICKNAME} or fewer in length.`);
  const bot = guild.members.get(guild.data.bot.id) as ChatMember;
  if (!botMay(guild, MANAGE_NICKNAMES)) refuse(403, 50013, 'Missing Permissions');
  const outOfReach = !isBelow(highestRole(guild, member), highestRole(guild, bot));
  if (member.id === guild.data.owner_id || outOfReach) refuse(403, 50013, 'Missing Permissions');
  return nick === '' ? null : nick;
}

/** The complete new list of roles. The bot must be allowed to make each addition and each removal. */
function readRoles(guild: ChatGuild, member: ChatMember, roles: unknown): string[] {
  if (!Array.isArray(roles)) return refuseField('roles', 'BASE_TYPE_LIST', 'Must be a list.');
  const wanted = new Set(roles.map(String));
  for (const id of wanted) if (!guild.roles.has(id)) refuse(400, 50028, 'Invalid Role');
  const left = member.roles.filter((id) => !wanted.has(id));
  const added = [...wanted].filter((id) => !member.roles.includes(id));
  for (const id of [...left, ...added]) requireAssignable(guild, id);
  return [...wanted];
}

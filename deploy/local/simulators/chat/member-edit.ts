import type { Clock } from '../limits.ts';
import type { Answer, Call } from '../routes.ts';
import { ok } from '../routes.ts';
import type { ChatGuild, World } from '../world.ts';
import { MANAGE_NICKNAMES, MODERATE_MEMBERS } from '../world.ts';
import type { ChatMember } from '../world-schema.ts';
import { isAdministrator, requireAssignable, requireInReach, requirePermission } from './assignable.ts';
import type { AuditLog } from './audit.ts';
import { readReason } from './audit.ts';
import { refuse, refuseField } from './errors.ts';
import type { GuildEvents } from './events.ts';
import { findGuild, snowflake } from './guilds.ts';
import { findMember, viewMember } from './member-view.ts';

const MAX_NICKNAME = 32;
const MAX_TIMEOUT_MS = 28 * 86_400_000;

export type MemberWrites = { world: World; audit: AuditLog; events: GuildEvents; clock: Clock };

/** Gives or takes one role. */
export function changeRole({ world, audit, events }: MemberWrites, call: Call): Answer {
  const guild = findGuild(world, call);
  const member = findMember(world, guild, call);
  const roleId = snowflake(call, 'role');
  requireAssignable(guild, roleId);
  const reason = readReason(call);
  const give = call.method === 'PUT';
  const changed = member.roles.includes(roleId) !== give;
  if (changed) {
    member.roles = give ? [...member.roles, roleId] : member.roles.filter((id) => id !== roleId);
    events.memberChanged(guild, member);
  }
  audit.add(call, reason, { [give ? '$add' : '$remove']: roleId }, changed);
  return { status: 204 };
}

/** Changes the nickname, the complete list of roles, and the timeout, each if it is given. */
export function editMember({ world, audit, events, clock }: MemberWrites, call: Call): Answer {
  const guild = findGuild(world, call);
  const member = findMember(world, guild, call);
  const form = (call.body ?? {}) as Record<string, unknown>;
  const changes = {
    ...('nick' in form && { nick: readNick(guild, member, form['nick']) }),
    ...('roles' in form && { roles: readRoles(guild, member, form['roles']) }),
    ...('communication_disabled_until' in form && {
      communication_disabled_until: readTimeout(guild, member, form['communication_disabled_until'], clock()),
    }),
  };
  const reason = readReason(call);
  const changed = JSON.stringify({ ...member, ...changes }) !== JSON.stringify(member);
  audit.add(call, reason, changes, changed);
  Object.assign(member, changes);
  if (changed) events.memberChanged(guild, member);
  return ok(viewMember(guild, member));
}

/** The new nickname, or null to remove it. The bot cannot change the owner or members whose role is as high as its own. */
function readNick(guild: ChatGuild, member: ChatMember, value: unknown): string | null {
  const nick = parseNick(value);
  requirePermission(guild, MANAGE_NICKNAMES);
  requireInReach(guild, member);
  return nick;
}

/** A nickname, or null if there is to be none. */
export function parseNick(nick: unknown): string | null {
  if (nick === null || nick === undefined) return null;
  if (typeof nick !== 'string') return refuseField('nick', 'BASE_TYPE_STRING', 'Must be a string.');
  if (Array.from(nick).length > MAX_NICKNAME)
    refuseField('nick', 'BASE_TYPE_BAD_LENGTH', `Must be ${MAX_NICKNAME} or fewer in length.`);
  return nick === '' ? null : nick;
}

/** The complete new list of roles. The bot must be allowed to make each addition and each removal. */
function readRoles(guild: ChatGuild, member: ChatMember, roles: unknown): string[] {
  const wanted = parseRoles(guild, 'roles', roles);
  const left = member.roles.filter((id) => !wanted.includes(id));
  const added = wanted.filter((id) => !member.roles.includes(id));
  for (const id of [...left, ...added]) requireAssignable(guild, id);
  return wanted;
}

/** A list of roles of the guild, each once. */
export function parseRoles(guild: ChatGuild, field: string, roles: unknown): string[] {
  if (!Array.isArray(roles)) return refuseField(field, 'BASE_TYPE_LIST', 'Must be a list.');
  const wanted = [...new Set(roles.map(String))];
  for (const id of wanted) if (!guild.roles.has(id)) refuse(400, 50028, 'Invalid Role');
  return wanted;
}

/** The end of the timeout, at most 28 days ahead; null ends it. Administrators cannot be timed out. */
function readTimeout(guild: ChatGuild, member: ChatMember, until: unknown, now: number): string | null {
  const field = 'communication_disabled_until';
  const time = typeof until === 'string' ? Date.parse(until) : Number.NaN;
  if (until !== null && Number.isNaN(time)) refuseField(field, 'DATETIME_TYPE_PARSE', `Could not parse the time.`);
  if (time > now + MAX_TIMEOUT_MS)
    refuseField(field, 'GUILD_MEMBER_DISABLE_COMMUNICATION_TOO_LONG', 'Must be at most 28 days from now.');
  requirePermission(guild, MODERATE_MEMBERS);
  requireInReach(guild, member);
  if (until !== null && isAdministrator(guild, member)) refuse(403, 50013, 'Missing Permissions');
  return until === null ? null : new Date(time).toISOString();
}

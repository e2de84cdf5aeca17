import type { Answer, Call } from '../routes.ts';
import { ok } from '../routes.ts';
import type { World } from '../world.ts';
import { compareIds } from '../world.ts';
import type { ChatMember } from '../world-schema.ts';
import { refuse, refuseField } from './errors.ts';
import { findGuild } from './guilds.ts';
import type { ChatRoute } from './limits.ts';
import { changeRole, editMember, type MemberWrites } from './member-edit.ts';
import { findMember, viewMember } from './member-view.ts';

const largestPage = 1000;

/** Routes for members, nicknames, timeouts and member roles. */
export function memberRoutes(writes: MemberWrites): ChatRoute[] {
  const { world } = writes;
  const members = '/api/v10/guilds/:guild/members';
  const setRole = (call: Call) => changeRole(writes, call);
  return [
    { method: 'GET', pattern: members, limit: 'member-list', handle: (call) => listMembers(world, call) },
    { method: 'GET', pattern: `${members}/search`, limit: 'member-search', handle: (call) => search(world, call) },
    { method: 'GET', pattern: `${members}/:user`, limit: 'member-read', handle: (call) => getMember(world, call) },
    { method: 'PATCH', pattern: `${members}/:user`, limit: 'member-edit', handle: (call) => editMember(writes, call) },
    { method: 'PUT', pattern: `${members}/:user/roles/:role`, limit: 'member-role', handle: setRole },
    { method: 'DELETE', pattern: `${members}/:user/roles/:role`, limit: 'member-role', handle: setRole },
  ];
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

import type { Answer, Call } from '../routes.ts';
import { ok } from '../routes.ts';
import type { GameGroup, World } from '../world.ts';
import type { GameRole } from '../world-schema.ts';
import { refuse } from './errors.ts';
import type { GameRoute } from './limits.ts';
import { findUser, viewPoster } from './users.ts';

const pageSizes = ['10', '25', '50', '100'];

/** Routes of the groups host. */
export function groupRoutes(world: World): GameRoute[] {
  return [
    { method: 'GET', pattern: '/v1/groups/:group', handle: (call) => getGroup(world, call) },
    { method: 'GET', pattern: '/v1/groups/:group/roles', handle: (call) => listRoles(world, call) },
    { method: 'GET', pattern: '/v1/groups/:group/users', handle: (call) => listMembers(world, call) },
    { method: 'GET', pattern: '/v2/users/:user/groups/roles', handle: (call) => listGroupsOfUser(world, call) },
  ];
}

/** A group's roles, sorted from the lowest. */
export function rolesByRank(group: GameGroup): GameRole[] {
  return [...group.data.roles].sort((left, right) => left.rank - right.rank);
}

function findGroup(world: World, call: Call): GameGroup {
  return world.groups.get(Number(call.params['group'])) ?? refuse(400, 1, 'Group is invalid or does not exist.');
}

function getGroup(world: World, call: Call): Answer {
  const group = findGroup(world, call);
  const owner = world.users.get(group.data.owner_id ?? 0);
  return ok({
    id: group.data.id,
    name: group.data.name,
    description: group.data.description,
    owner: owner ? viewPoster(owner) : null,
    shout: null,
    memberCount: group.members.size,
    isBuildersClubOnly: false,
    publicEntryAllowed: true,
    hasVerifiedBadge: false,
  });
}

function listRoles(world: World, call: Call): Answer {
  const group = findGroup(world, call);
  const roles = rolesByRank(group).map(({ id, name, rank }) => {
    return { id, name, description: '', rank, memberCount: group.counts.get(id) ?? 0, isBase: rank === 1, color: '' };
  });
  return ok({ groupId: group.data.id, roles });
}

/** The highest role in each group, even if the user has several. */
function listGroupsOfUser(world: World, call: Call): Answer {
  const user = findUser(world, call) ?? refuse(400, 3, 'The user is invalid or does not exist.');
  if (user.rejected) refuse(400, 0, 'BadRequest');
  const data = user.groups.flatMap(({ group_id: id }) => {
    const group = world.groups.get(id);
    const role = group?.members.get(user.id)?.roles[0];
    if (!group || !role) return [];
    const view = { id, name: group.data.name, memberCount: group.members.size, hasVerifiedBadge: false };
    return [{ group: view, role: { id: role.id, name: role.name, rank: role.rank } }];
  });
  return ok({ data });
}

function listMembers(world: World, call: Call): Answer {
  const group = findGroup(world, call);
  if (group.data.members_hidden) refuse(403, 35, "You do not have permission to view this group's member list.");
  const limit = call.query.get('limit') ?? '10';
  if (!pageSizes.includes(limit)) refuse(400, 0, `Allowed values: ${pageSizes.join(', ')}`);
  const start = readCursor(call.query.get('cursor'));
  const members = [...group.members.values()];
  if (call.query.get('sortOrder')?.toLowerCase() === 'desc') members.reverse();
  const end = start + Number(limit);
  const data = members.slice(start, end).map(({ user, roles: [role] }) => ({
    user: viewPoster(user),
    role: { id: role.id, name: role.name, rank: role.rank },
  }));
  return ok({
    previousPageCursor: start > 0 ? writeCursor(Math.max(0, start - Number(limit))) : null,
    nextPageCursor: end < members.length ? writeCursor(end) : null,
    data,
  });
}

function writeCursor(start: number): string {
  return Buffer.from(`start:${start}`).toString('base64url');
}

function readCursor(cursor: string | null): number {
  if (!cursor) return 0;
  const match = /^start:([0-9]{1,9})$/.exec(Buffer.from(cursor, 'base64url').toString());
  return match ? Number(match[1]) : refuse(400, 36, 'The pagination cursor is invalid.');
}

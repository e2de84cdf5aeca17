import type { Answer, Call } from '../routes.ts';
import { ok } from '../routes.ts';
import type { World } from '../world.ts';
import { inventoryItems } from './cloud-inventory.ts';
import { memberships } from './cloud-memberships.ts';
import { paginate } from './cloud-pages.ts';
import { refuseCloud } from './errors.ts';
import { rolesByRank } from './groups.ts';
import type { GameRoute } from './limits.ts';
import { displayName, findUser } from './users.ts';

const largestRolePage = 20;

/** Routes of Open Cloud, version 2. IDs are strings, references are paths. */
export function cloudRoutes(world: World): GameRoute[] {
  const cloud = '/cloud/v2';
  return [
    { method: 'GET', pattern: `${cloud}/users/:user`, limit: 'cloud-user', handle: (call) => getUser(world, call) },
    { method: 'GET', pattern: `${cloud}/groups/:group`, limit: 'cloud-group', handle: (call) => getGroup(world, call) },
    {
      method: 'GET',
      pattern: `${cloud}/groups/:group/roles`,
      limit: 'cloud-roles',
      handle: (call) => listRoles(world, call),
    },
    {
      method: 'GET',
      pattern: `${cloud}/groups/:group/memberships`,
      limit: 'cloud-memberships',
      handle: (call) => memberships(world, call),
    },
    {
      method: 'GET',
      pattern: `${cloud}/users/:user/inventory-items`,
      limit: 'cloud-inventory',
      handle: (call) => inventoryItems(world, call),
    },
  ];
}

function getUser(world: World, call: Call): Answer {
  const user = findUser(world, call) ?? refuseCloud(404, 'User not found.');
  return ok({
    path: `users/${user.id}`,
    createTime: user.created,
    id: String(user.id),
    name: user.name,
    displayName: displayName(user),
    about: user.description,
    locale: 'en-US',
    premium: false,
  });
}

function getGroup(world: World, call: Call): Answer {
  const group = world.groups.get(Number(call.params['group'])) ?? refuseCloud(404, 'Group not found.');
  const { id, name, description, owner_id: owner } = group.data;
  return ok({
    path: `groups/${id}`,
    id: String(id),
    displayName: name,
    description,
    ...(owner !== null && { owner: `users/${owner}` }),
    memberCount: group.members.size,
    publicEntryAllowed: true,
    locked: false,
    verified: false,
  });
}

function listRoles(world: World, call: Call): Answer {
  const group = world.groups.get(Number(call.params['group'])) ?? refuseCloud(404, 'Group not found.');
  const { page, nextPageToken } = paginate(call, rolesByRank(group), largestRolePage);
  const groupRoles = page.map(({ id, name, rank }) => ({
    path: `groups/${group.data.id}/roles/${id}`,
    id: String(id),
    displayName: name,
    rank,
    // Nobody has the guest role, so it has no count.
    ...(rank > 0 && { memberCount: group.counts.get(id) ?? 0 }),
  }));
  return ok({ groupRoles, nextPageToken });
}

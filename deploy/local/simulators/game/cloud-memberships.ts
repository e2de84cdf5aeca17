import type { Answer, Call } from '../routes.ts';
import { ok } from '../routes.ts';
import type { GameGroup, GameMembership, World } from '../world.ts';
import { paginate } from './cloud-pages.ts';
import { refuseCloud } from './errors.ts';

const largestPage = 100;
const MAX_USERS = 50;
const joined = '2020-01-01T00:00:00Z';

/**
 * Memberships of one group, optionally filtered by user or role; with `-` as the group, those of up to 50 users in all
 * groups. The two forms accept different filters.
 */
export function memberships(world: World, call: Call): Answer {
  const filter = call.query.get('filter');
  const rows = call.params['group'] === '-' ? ofUsers(world, filter) : ofGroup(world, call, filter);
  const { page, nextPageToken } = paginate(call, rows, largestPage);
  return ok({ groupMemberships: page.map(viewMembership), nextPageToken });
}

function viewMembership({ user, group, roles }: GameMembership) {
  const path = `groups/${group.data.id}`;
  return {
    path: `${path}/memberships/${Buffer.from(String(user.id)).toString('base64url')}`,
    createTime: joined,
    updateTime: joined,
    user: `users/${user.id}`,
    // Only the highest role, for older clients; `roles` has all.
    role: `${path}/roles/${roles[0].id}`,
    roles: roles.map((role) => `${path}/roles/${role.id}`),
  };
}

function ofUsers(world: World, filter: string | null): GameMembership[] {
  const list = /^\s*user\s+in\s+\[(.*)\]\s*$/.exec(filter ?? '')?.[1];
  const parts = (list ?? '').split(',').map((part) => /^\s*(['"])users\/([0-9]+)\1\s*$/.exec(part)?.[2]);
  if (parts.includes(undefined)) refuseCloud(400, "With groups/- the filter must be: user in ['users/1', ...]");
  if (parts.length > MAX_USERS) refuseCloud(400, `The filter names more than ${MAX_USERS} users.`);
  const ids = [...new Set(parts.map(Number))];
  const rejected = ids.find((id) => world.users.get(id)?.rejected);
  if (rejected !== undefined) refuseCloud(400, `The user ${rejected} is invalid.`);
  return ids.flatMap((id) => {
    const groups = world.users.get(id)?.groups ?? [];
    return groups.flatMap((membership) => world.groups.get(membership.group_id)?.members.get(id) ?? []);
  });
}

function ofGroup(world: World, call: Call, filter: string | null): GameMembership[] {
  const group = world.groups.get(Number(call.params['group'])) ?? refuseCloud(404, 'Group not found.');
  if (!filter) return [...group.members.values()];
  const match = /^\s*(user|role)\s*==\s*(['"])([\w/]+)\2\s*$/.exec(filter);
  if (!match) return refuseCloud(400, "The filter must be: user == 'users/1' or role == 'groups/1/roles/2'");
  return match[1] === 'user' ? ofUser(group, match[3] ?? '') : ofRole(group, match[3] ?? '');
}

function ofUser(group: GameGroup, path: string): GameMembership[] {
  const id = /^users\/([0-9]+)$/.exec(path)?.[1] ?? refuseCloud(400, `No path of a user: ${path}`);
  return [group.members.get(Number(id)) ?? []].flat();
}

function ofRole(group: GameGroup, path: string): GameMembership[] {
  const [, groupId, roleId] = /^groups\/([0-9]+)\/roles\/([0-9]+)$/.exec(path) ?? [];
  if (Number(groupId) !== group.data.id) refuseCloud(400, `No path of a role of this group: ${path}`);
  return [...group.members.values()].filter(({ roles }) => roles.some((role) => role.id === Number(roleId)));
}

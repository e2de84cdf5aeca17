import type { Answer, Call } from '../routes.ts';
import { ok } from '../routes.ts';
import type { World } from '../world.ts';
import type { GameUser } from '../world-schema.ts';
import { refuse } from './errors.ts';
import type { GameRoute } from './limits.ts';

const MAX_USERS_PER_REQUEST = 100;

/** Routes of the users host. */
export function userRoutes(world: World): GameRoute[] {
  return [
    { method: 'GET', pattern: '/v1/users/:user', handle: (call) => getUser(world, call) },
    { method: 'POST', pattern: '/v1/users', handle: (call) => listUsers(world, call) },
    { method: 'POST', pattern: '/v1/usernames/users', handle: (call) => listUsersByName(world, call) },
  ];
}

/** The user in the path, or undefined. */
export function findUser(world: World, call: Call): GameUser | undefined {
  return world.users.get(Number(call.params['user']));
}

/** A user as embedded in other responses of the older hosts. */
export function viewPoster(user: GameUser) {
  return { userId: user.id, username: user.name, displayName: displayName(user), hasVerifiedBadge: false };
}

/** The display name. */
export function displayName(user: GameUser): string {
  return user.display_name ?? user.name;
}

function viewShort(user: GameUser) {
  return { id: user.id, name: user.name, displayName: displayName(user), hasVerifiedBadge: false };
}

function getUser(world: World, call: Call): Answer {
  const user = findUser(world, call) ?? refuse(404, 3, 'The user id is invalid.');
  const { description, created, banned } = user;
  return ok({ ...viewShort(user), description, created, isBanned: banned, externalAppDisplayName: null });
}

/** Users that do not exist are omitted from the response. */
function listUsers(world: World, call: Call): Answer {
  const { values, withBanned } = readList(call, 'userIds', 1, 'Too many ids.');
  const users = [...new Set(values.map(Number))].flatMap((id) => world.users.get(id) ?? []);
  return ok({ data: users.filter((user) => withBanned || !user.banned).map(viewShort) });
}

/** A former name also finds its user. */
function listUsersByName(world: World, call: Call): Answer {
  const { values, withBanned } = readList(call, 'usernames', 2, 'Too many usernames.');
  const found = [...new Set(values.map(String))].flatMap((name) => {
    const user = world.usersByName.get(name.toLowerCase());
    return user && (withBanned || !user.banned) ? [{ requestedUsername: name, ...viewShort(user) }] : [];
  });
  return ok({ data: found });
}

function readList(
  call: Call,
  field: string,
  code: number,
  tooMany: string,
): { values: unknown[]; withBanned: boolean } {
  const body = (call.body ?? {}) as Record<string, unknown>;
  const values = body[field];
  if (!Array.isArray(values)) return refuse(400, 0, `The field ${field} is required.`);
  if (values.length > MAX_USERS_PER_REQUEST) refuse(400, code, tooMany);
  return { values, withBanned: body['excludeBannedUsers'] !== true };
}

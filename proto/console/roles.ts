import type { RouteSpec } from '../rest/route.ts';
import { grantsScope, type Scope } from '../rest/scopes.ts';

/** The roles of persons in a guild, from the fewest rights to the most. A role has all rights of those before it. */
export const GUILD_ROLES = ['viewer', 'moderator', 'admin', 'owner'] as const;
export type GuildRole = (typeof GUILD_ROLES)[number];

const VIEWER: readonly Scope[] = [
  'moderation:read',
  'lookup:read',
  'members:read',
  'activity:read',
  'server:read',
  'sync:read',
  'events:read',
  'commands:read',
];
const MODERATOR: readonly Scope[] = [...VIEWER, 'moderation:write', 'commands:write', 'verify:write'];
// No role has activity:write or server:write: only a game server reports sessions, actions and heartbeats.
const ADMIN: readonly Scope[] = [...MODERATOR, 'sync:write', 'webhooks:read', 'webhooks:write'];

/** The scopes of the REST routes that each role may call. */
export const ROLE_SCOPES: Readonly<Record<GuildRole, readonly Scope[]>> = {
  viewer: VIEWER,
  moderator: MODERATOR,
  admin: ADMIN,
  owner: ADMIN,
};

/** What persons do that is no REST route, with the role that it needs. */
export const CONSOLE_ACTIONS = {
  'access.read': 'viewer',
  'access.write': 'admin',
  'keys.read': 'admin',
  'keys.write': 'admin',
  'audit.read': 'admin',
  'person.export': 'admin',
  'person.erase': 'admin',
} as const satisfies Record<string, GuildRole>;
export type ConsoleAction = keyof typeof CONSOLE_ACTIONS;

/** True if `role` has at least the rights of `required`. */
export function includesGuildRole(role: GuildRole, required: GuildRole): boolean {
  return GUILD_ROLES.indexOf(role) >= GUILD_ROLES.indexOf(required);
}

/** True if a person with this role may call a REST route. */
export function roleAllowsRoute(role: GuildRole, route: Pick<RouteSpec, 'scope' | 'writes' | 'method'>): boolean {
  if (route.scope !== null) return grantsScope(ROLE_SCOPES[role], route.scope);
  return includesGuildRole(role, roleOfUnscoped(route));
}

/** Routes that any valid key may call: reads are for everybody, checks that cost calls to platforms for moderators. */
function roleOfUnscoped({ writes, method }: Pick<RouteSpec, 'writes' | 'method'>): GuildRole {
  if (writes) return 'admin';
  return method === 'GET' ? 'viewer' : 'moderator';
}

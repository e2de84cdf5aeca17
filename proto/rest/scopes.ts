/** All scopes that a key may have. */
export const SCOPES = [
  'moderation:read',
  'moderation:write',
  'lookup:read',
  'members:read',
  'verify:write',
  'sync:write',
  'activity:write',
  'server:write',
  'activity:read',
  'server:read',
  'sync:read',
  'events:read',
  'webhooks:read',
  'webhooks:write',
  'commands:read',
  'commands:write',
] as const;

/** The scopes that a plugin in a game server needs. Sending commands and creating webhooks are not among them. */
export const GAME_SCOPES: readonly Scope[] = [
  'moderation:read',
  'moderation:write',
  'lookup:read',
  'members:read',
  'verify:write',
  'sync:write',
  'activity:write',
  'server:write',
];

export type Scope = (typeof SCOPES)[number];

/** True if a key with these scopes has the required one. null is a legacy key, which has all scopes. */
export function grantsScope(scopes: readonly string[] | null, required: Scope): boolean {
  if (scopes === null || scopes.includes(required)) return true;
  const [resource, action] = required.split(':');
  return action === 'read' && scopes.includes(`${resource}:write`);
}

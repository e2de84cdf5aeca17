/** The scopes of the specification, section 5. No others exist. */
export const SCOPES = [
  'moderation:read',
  'moderation:write',
  'lookup:read',
  'members:read',
  'verify:write',
  'sync:write',
  'activity:write',
  'server:write',
] as const;

/** What a plugin in a game server needs: it can neither send commands nor create webhooks. */
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

/** Whether a key with these scopes (null = a legacy key, which reaches everything) may do what `required` names. */
export function grantsScope(scopes: readonly string[] | null, required: Scope): boolean {
  if (scopes === null || scopes.includes(required)) return true;
  const [resource, action] = required.split(':');
  return action === 'read' && scopes.includes(`${resource}:write`);
}

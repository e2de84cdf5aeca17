import type { Key } from '#proto/gen/guild/auth/v1/admin.ts';
import type { Output } from '../../command.ts';
import { optionalTime, properties, time } from '../../text.ts';

/** Returns an API key as JSON, with the fields that a new key has. */
export function newKeyDocument(key: Key) {
  return {
    id: key.id,
    prefix: key.prefix,
    guild_id: key.guildId,
    scopes: key.legacy ? null : key.scopes,
    legacy: key.legacy,
    expires_at: key.expiresAt ?? null,
    rate_limit: key.rateLimit ?? null,
    ip_allowlist: key.ipAllowlist,
    created_at: key.createdAt,
  };
}

/** Returns an API key as JSON with all fields. */
export function keyDocument(key: Key) {
  return {
    ...newKeyDocument(key),
    name: key.name,
    revoked_at: key.revokedAt ?? null,
    rotated_until: key.rotatedUntil ?? null,
    last_used_at: key.lastUsedAt ?? null,
  };
}

/** Returns the output of a command that creates the secret of an API key. */
export function secretOutput(key: Key, secret: string, { id, ...rest }: { id: string }): Output {
  const text = `${describe(key)}\n\nThe key, which is not shown again:\n${secret}`;
  return { document: { id, key: secret, ...rest }, text };
}

export function keyOutput(key: Key): Output {
  return { document: keyDocument(key), text: describe(key) };
}

/** The headings of a table of API keys. */
export const HEADINGS = ['ID', 'NAME', 'STATE', 'SCOPES', 'LIMIT', 'ALLOWED FROM', 'LAST USED', 'PREFIX'];

/** Returns the cells of an API key in a table with the headings HEADINGS. */
export const keyCells = (key: Key) => [
  key.id,
  key.name || '-',
  state(key),
  scopesText(key),
  key.rateLimit === undefined ? '-' : `${key.rateLimit}/min`,
  key.ipAllowlist.join(', ') || 'anywhere',
  optionalTime(key.lastUsedAt, 'never'),
  key.prefix,
];

function describe(key: Key): string {
  return properties([
    ['ID', key.id],
    ['Name', key.name || '-'],
    ['State', state(key)],
    ['Prefix', key.prefix],
    ['Scopes', scopesText(key)],
    ['Limit', key.rateLimit === undefined ? 'none of its own' : `${key.rateLimit} requests a minute`],
    ['Allowed from', key.ipAllowlist.join(', ') || 'anywhere'],
    ['Created', time(key.createdAt)],
    ['Expires', optionalTime(key.expiresAt, 'never')],
    ['Old secret works until', optionalTime(key.rotatedUntil, '-')],
    ['Last used', optionalTime(key.lastUsedAt, 'never')],
  ]);
}

function state(key: Key): string {
  if (key.revokedAt !== undefined) return `revoked ${time(key.revokedAt)}`;
  if (key.expiresAt === undefined) return 'active';
  return `${key.expiresAt * 1000 <= Date.now() ? 'expired' : 'active until'} ${time(key.expiresAt)}`;
}

function scopesText(key: Key): string {
  return key.legacy ? 'everything (legacy)' : key.scopes.join(',') || 'none';
}

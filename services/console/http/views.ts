import type { z } from 'zod';
import { ApiError } from '#kit/errors.ts';
import type { accessData, auditData, keyData } from '#proto/console/api.ts';
import { GUILD_ROLES, type GuildRole } from '#proto/console/roles.ts';
import type { AuditEntry, Key } from '#proto/gen/guild/auth/v1/admin.ts';
import type { Access } from '#proto/gen/guild/auth/v1/console.ts';

/** Returns the role in a response of auth. Throws INTERNAL if this console does not know it. */
export function roleOf(text: string): GuildRole {
  const role = GUILD_ROLES.find((known) => known === text);
  if (!role) throw incomplete('a known role');
  return role;
}

/** Returns a part of a response of auth that is always set. */
export function required<Value>(value: Value | undefined, name: string): Value {
  if (value === undefined) throw incomplete(name);
  return value;
}

const incomplete = (what: string) =>
  new ApiError('INTERNAL', { cause: new Error(`the response of auth has no ${what}`) });

/** Returns a key without its secret. */
export function keyView(key: Key | undefined): z.input<typeof keyData> {
  const given = required(key, 'key');
  return {
    id: given.id,
    name: given.name,
    prefix: given.prefix,
    legacy: given.legacy,
    scopes: given.scopes,
    ip_allowlist: given.ipAllowlist,
    rate_limit: given.rateLimit ?? null,
    created_at: given.createdAt,
    expires_at: given.expiresAt ?? null,
    revoked_at: given.revokedAt ?? null,
    rotated_until: given.rotatedUntil ?? null,
    last_used_at: given.lastUsedAt ?? null,
  };
}

export function accessView(access: Access | undefined): z.input<typeof accessData> {
  const { chatId, role, givenBy, givenAt } = required(access, 'access');
  return { chat_id: chatId, role: roleOf(role), given_by: givenBy, given_at: givenAt };
}

export function auditView(entry: AuditEntry): z.input<typeof auditData>['entries'][number] {
  const { sequence, at, actor, action, service, keyId, details } = entry;
  const parsed = details === '' ? null : (JSON.parse(details) as Record<string, unknown> | null);
  return { sequence, at, actor, action, service, key_id: keyId || null, details: parsed };
}

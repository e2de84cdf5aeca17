import { unixSeconds } from '#kit/clock.ts';
import type { AuditEntry, Guild, Key } from '#proto/gen/guild/auth/v1/admin.ts';
import type { KeyChange as KeyChangeMessage, KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import type { Operator } from '#proto/gen/guild/auth/v1/operators.ts';
import { formatKeyId, type Grant, type KeyChange, type KeyRecord } from '../domain/key.ts';
import type { AuditRow } from '../store/audit.ts';
import type { GuildRecord } from '../store/guilds.ts';
import type { OperatorRecord } from '../store/operators.ts';

/** Returns the gRPC message for an API key without its secret. */
export function keyView(key: KeyRecord): Key {
  return {
    id: formatKeyId(key),
    guildId: key.guildId,
    name: key.name,
    prefix: key.prefix,
    legacy: key.scopes === null,
    scopes: key.scopes ?? [],
    ipAllowlist: key.ipAllowlist,
    rateLimit: key.rateLimit ?? undefined,
    expiresAt: optionalSeconds(key.expiresAt),
    createdAt: unixSeconds(key.createdAt),
    revokedAt: optionalSeconds(key.revokedAt),
    rotatedUntil: optionalSeconds(key.rotatedUntil),
    lastUsedAt: optionalSeconds(key.lastUsedAt),
  };
}

/** Returns an API key without its secret, in the form of events. */
export function keyEventView(key: KeyRecord) {
  return {
    id: formatKeyId(key),
    prefix: key.prefix,
    guild_id: key.guildId,
    name: key.name,
    scopes: key.scopes,
    legacy: key.scopes === null,
    ip_allowlist: key.ipAllowlist,
    rate_limit: key.rateLimit,
    created_at: unixSeconds(key.createdAt),
    expires_at: optionalSeconds(key.expiresAt) ?? null,
    revoked_at: optionalSeconds(key.revokedAt) ?? null,
    rotated_until: optionalSeconds(key.rotatedUntil) ?? null,
    last_used_at: optionalSeconds(key.lastUsedAt) ?? null,
  };
}

export function auditView(guildId: string, row: AuditRow): AuditEntry {
  return {
    id: String(row.sequence),
    at: unixSeconds(row.at),
    actor: row.actor,
    action: row.action,
    keyId: row.number === null ? '' : formatKeyId({ guildId, number: row.number }),
    details: JSON.stringify(row.details),
    sequence: row.sequence,
    service: row.service,
    method: row.method,
  };
}

export function guildView({ guildId, activeKeys, keys, lastUsedAt, suspendedAt }: GuildRecord): Guild {
  return {
    guildId,
    activeKeys,
    keys,
    lastUsedAt: optionalSeconds(lastUsedAt),
    suspendedAt: optionalSeconds(suspendedAt),
  };
}

export function operatorView({ name, role, createdAt, createdBy, revokedAt }: OperatorRecord): Operator {
  return { name, role, createdAt: unixSeconds(createdAt), createdBy, revokedAt: optionalSeconds(revokedAt) };
}

/**
 * Returns the access that a secret gives, as a gRPC message that gateways cache. 0 means that the API key has no rate
 * limit of its own or no expiry, or that the end of the secret's validity is not set.
 */
export function grantView(grant: Grant): KeyGrant {
  return {
    keyId: formatKeyId(grant),
    guildId: grant.guildId,
    prefix: grant.prefix,
    legacy: grant.scopes === null,
    scopes: grant.scopes ?? [],
    ipAllowlist: grant.ipAllowlist,
    rateLimit: grant.rateLimit ?? 0,
    expiresAt: optionalSeconds(grant.expiresAt) ?? 0,
    validUntil: grant.validUntil ? Math.max(1, unixSeconds(grant.validUntil)) : 0,
    version: grant.version,
  };
}

export function changeView(change: KeyChange): KeyChangeMessage {
  return {
    keyId: formatKeyId(change),
    guildId: change.guildId,
    version: change.version,
    hashes: change.hashes,
    changedAtMs: change.changedAt.getTime(),
  };
}

function optionalSeconds(time: Date | null): number | undefined {
  return time ? unixSeconds(time) : undefined;
}

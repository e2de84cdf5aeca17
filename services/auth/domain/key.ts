import type { Scope } from '#proto/rest/scopes.ts';

/** The maximum number of keys of a guild that are neither revoked nor expired (specification, section 2.2). */
export const MAX_ACTIVE_KEYS = 10;

/** Identifies a key: the guild, and the number of the key within the guild. */
export interface KeyRef {
  guildId: string;
  number: number;
}

/** The settings that operators choose for a key. */
export interface KeySettings {
  name: string;
  /** null = a legacy key, which has access to everything. */
  scopes: Scope[] | null;
  ipAllowlist: string[];
  /** Requests a minute. */
  rateLimit: number | null;
  expiresAt: Date | null;
}

/** A key without its secrets. */
export interface KeyRecord extends KeyRef, KeySettings {
  /** The prefix of its current secret. */
  prefix: string;
  createdAt: Date;
  revokedAt: Date | null;
  /** When the last of the rotated secrets stops working. */
  rotatedUntil: Date | null;
  lastUsedAt: Date | null;
}

/** The access that one secret of a key gives. */
export interface Grant extends KeyRef, Omit<KeySettings, 'name'> {
  /** The prefix of the verified secret. */
  prefix: string;
  /** When this secret stops working because it was rotated. */
  validUntil: Date | null;
  version: number;
}

/** A change of a key, as it is sent to gateways. */
export interface KeyChange extends KeyRef {
  version: number;
  changedAt: Date;
  /** SHA-256 of its secrets, including the rotated ones. */
  hashes: Buffer[];
}

/** The last key of a page of keys. */
export interface KeyPosition extends KeyRef {
  isRevoked: boolean;
}

const KEY_ID = /^([1-9][0-9]{16,19})-([1-9][0-9]{0,8})$/;

/** Returns the ID of a key. It is opaque to callers, and it contains the guild ID. */
export function formatKeyId({ guildId, number }: KeyRef): string {
  return `${guildId}-${number}`;
}

/** Returns undefined if the text is not the ID of a key. */
export function parseKeyId(text: string): KeyRef | undefined {
  const [, guildId, number] = KEY_ID.exec(text) ?? [];
  return guildId && number ? { guildId, number: Number(number) } : undefined;
}

/** True if the key counts towards MAX_ACTIVE_KEYS. */
export function isActive(key: Pick<KeyRecord, 'revokedAt' | 'expiresAt'>, now: Date): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);
}

import type { Scope } from '#proto/rest/scopes.ts';

/** The maximum number of API keys of a guild that are neither revoked nor expired (specification, section 2.2). */
export const MAX_ACTIVE_KEYS = 10;
/** The maximum number of rotated secrets of an API key that work at a time, besides its current secret. */
export const MAX_ROTATED_SECRETS = 5;

/** Identifies an API key: the guild, and the number of the key within the guild. */
export interface KeyRef {
  guildId: string;
  number: number;
}

/** The settings that operators choose for an API key. */
export interface KeySettings {
  name: string;
  /** The scopes of the API key; null for a legacy key, which has access to everything. */
  scopes: Scope[] | null;
  ipAllowlist: string[];
  /** The rate limit of the API key, in requests a minute; null if the key has no rate limit of its own. */
  rateLimit: number | null;
  expiresAt: Date | null;
}

/** An API key without its secrets. */
export interface KeyRecord extends KeyRef, KeySettings {
  /** The prefix of the API key's current secret. */
  prefix: string;
  createdAt: Date;
  revokedAt: Date | null;
  /** When the last of the API key's rotated secrets stops working; null if no rotated secret works. */
  rotatedUntil: Date | null;
  lastUsedAt: Date | null;
}

/** The access that one secret of an API key gives. */
export interface Grant extends KeyRef, Omit<KeySettings, 'name'> {
  /** The prefix of the secret that was verified. */
  prefix: string;
  /** When the verified secret stops working because it was rotated; null for the current secret. */
  validUntil: Date | null;
  version: number;
}

/** A change of an API key, as the auth service sends it to gateways. */
export interface KeyChange extends KeyRef {
  version: number;
  changedAt: Date;
  /** The SHA-256 hashes of the API key's secrets that work, or stopped working shortly before this change. */
  hashes: Buffer[];
}

/** The position of the last API key of a page in the list of keys. */
export interface KeyPosition extends KeyRef {
  isRevoked: boolean;
}

const KEY_ID = /^([1-9][0-9]{16,19})-([1-9][0-9]{0,8})$/;

/** Returns the ID of an API key, which contains the guild ID. Callers must treat the ID as an opaque text. */
export function formatKeyId({ guildId, number }: KeyRef): string {
  return `${guildId}-${number}`;
}

/** Parses the ID of an API key; returns undefined if the text is not such an ID. */
export function parseKeyId(text: string): KeyRef | undefined {
  const [, guildId, number] = KEY_ID.exec(text) ?? [];
  return guildId && number ? { guildId, number: Number(number) } : undefined;
}

/** True if the API key counts towards MAX_ACTIVE_KEYS. */
export function isActive(key: Pick<KeyRecord, 'revokedAt' | 'expiresAt'>, now: Date): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);
}

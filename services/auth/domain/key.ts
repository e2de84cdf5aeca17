import type { Scope } from '#proto/rest/scopes.ts';

/** The most keys of a guild that are neither revoked nor expired (specification, section 2.2). */
export const MAX_ACTIVE_KEYS = 10;

/** Which key: the n-th of a guild. */
export interface KeyRef {
  guildId: string;
  number: number;
}

/** What the owner of a key chooses. */
export interface KeySettings {
  name: string;
  /** null = a legacy key, which reaches everything. */
  scopes: Scope[] | null;
  ipAllowlist: string[];
  /** Requests a minute. */
  rateLimit: number | null;
  expiresAt: Date | null;
}

/** A key as its owner may see it. */
export interface KeyRecord extends KeyRef, KeySettings {
  /** Of its current secret. */
  prefix: string;
  createdAt: Date;
  revokedAt: Date | null;
  /** Until when the newest of the rotated secrets still works. */
  rotatedUntil: Date | null;
  lastUsedAt: Date | null;
}

/** What one secret of a key allows. */
export interface Grant extends KeyRef, Omit<KeySettings, 'name'> {
  /** Of the secret that was shown. */
  prefix: string;
  /** When this secret stops working because it was rotated. */
  validUntil: Date | null;
  version: number;
}

/** That a key has changed. */
export interface KeyChange extends KeyRef {
  version: number;
  changedAt: Date;
  /** SHA-256 of its secrets, the rotated ones too. */
  hashes: Buffer[];
}

const KEY_ID = /^([1-9][0-9]{16,19})-([1-9][0-9]{0,8})$/;

/** A key's ID: opaque to callers, and it carries the guild. */
export function formatKeyId({ guildId, number }: KeyRef): string {
  return `${guildId}-${number}`;
}

/** undefined when the text is no key's ID. */
export function parseKeyId(text: string): KeyRef | undefined {
  const [, guildId, number] = KEY_ID.exec(text) ?? [];
  return guildId && number ? { guildId, number: Number(number) } : undefined;
}

/** Whether a key counts among the ten of its guild. */
export function isActive(key: Pick<KeyRecord, 'revokedAt' | 'expiresAt'>, now: Date): boolean {
  return key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);
}

import type { Database } from '#kit/postgres/pool.ts';
import { findSecret } from '../store/guilds.ts';
import { formatKeyId } from './key.ts';
import type { KeyAdmin } from './keys.ts';

/** A key that somebody found in public. */
export interface LeakedKey {
  guildId: string;
  hash: Buffer;
  /** Where, and by whom; empty where that is not known. */
  url: string;
  source: string;
}

export interface LeakedResult {
  result: 'revoked' | 'already_revoked' | 'unknown';
  /** Empty where the key is unknown. */
  keyId: string;
}

/**
 * Revokes the keys that leaked, also those of which an older secret did; the audit notes where each was found. A dry run
 * says `revoked` of keys that would be.
 */
export async function revokeLeaked(
  database: Database,
  keys: KeyAdmin,
  leaked: readonly LeakedKey[],
  { isDryRun, note }: { isDryRun: boolean; note: string },
): Promise<LeakedResult[]> {
  const results: LeakedResult[] = [];
  for (const { guildId, hash, url, source } of leaked) {
    const found = await findSecret(database, guildId, hash);
    const keyId = found ? formatKeyId({ guildId, number: found.number }) : '';
    if (!found || found.isRevoked || isDryRun) {
      results.push({ result: !found ? 'unknown' : found.isRevoked ? 'already_revoked' : 'revoked', keyId });
      continue;
    }
    const details = { leaked: true, ...(url && { url }), ...(source && { source }) };
    const { isNew } = await keys.revokeOnce({ key_id: { guildId, number: found.number }, note }, details);
    results.push({ result: isNew ? 'revoked' : 'already_revoked', keyId });
  }
  return results;
}

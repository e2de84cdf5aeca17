import type { Database } from '#kit/postgres/pool.ts';
import { findSecret } from '../store/guilds.ts';
import { formatKeyId } from './key.ts';
import type { KeyAdmin } from './keys.ts';

/** A key that was found in public. */
export interface LeakedKey {
  guildId: string;
  hash: Buffer;
  /** The URL at which it was found; empty if unknown. */
  url: string;
  /** The kind of place where it was found, as the scanner names it; empty if unknown. */
  source: string;
}

export interface LeakedResult {
  result: 'revoked' | 'already_revoked' | 'unknown';
  /** Empty if the key is unknown. */
  keyId: string;
}

/**
 * Revokes leaked keys, including those of which an older secret leaked. The audit entry contains the place of the leak.
 * In a dry run the result `revoked` means that the key would be revoked.
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
    if (!found) {
      results.push({ result: 'unknown', keyId: '' });
      continue;
    }
    const key = { guildId, number: found.number };
    const details = { leaked: true, ...(url && { url }), ...(source && { source }) };
    const isRevoked = found.isRevoked || (!isDryRun && !(await keys.revoke({ key, note, details })).isNew);
    results.push({ result: isRevoked ? 'already_revoked' : 'revoked', keyId: formatKeyId(key) });
  }
  return results;
}

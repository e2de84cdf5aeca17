import type { Database } from '#kit/postgres/pool.ts';
import { findSecret } from '../store/guilds.ts';
import { formatKeyId } from './key.ts';
import type { KeyAdmin } from './keys.ts';

/** An API key that was found in a public place. */
export interface LeakedKey {
  guildId: string;
  hash: Buffer;
  /** The URL at which the API key was found; empty if unknown. */
  url: string;
  /** The kind of place where the API key was found, in the words of the scanner; empty if unknown. */
  source: string;
}

export interface LeakedResult {
  result: 'revoked' | 'already_revoked' | 'unknown';
  /** The ID of the API key; empty if the key is unknown. */
  keyId: string;
}

/**
 * Revokes leaked API keys, even if only an older secret of a key leaked. The audit entry contains the place of the
 * leak. In a dry run nothing is revoked, and the result `revoked` means that the key would be revoked.
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
    const leak = { ...(url && { url }), ...(source && { source }) };
    const isRevoked = found.isRevoked || (!isDryRun && !(await keys.revoke({ key, note, leak })).isNew);
    results.push({ result: isRevoked ? 'already_revoked' : 'revoked', keyId: formatKeyId(key) });
  }
  return results;
}

import { ApiError } from '#kit/errors.ts';
import type { Transaction } from '#kit/postgres/pool.ts';
import type { Principal } from '#kit/security/principal.ts';
import { EVENT_TYPES } from '#proto/rest/events/index.ts';
import { isRevoked } from '../store/revoked-keys.ts';
import { visibleTypes } from './visible-types.ts';

/** A key that may make changes: its ID, its public prefix and its scopes. */
export type Owner = Pick<Principal, 'keyId' | 'keyPrefix' | 'scopes'>;

/** Throws INVALID_API_KEY if a key was revoked after the gateway has accepted it, because its webhooks are disabled then. */
export async function checkNotRevoked(transaction: Transaction, guildId: string, { keyId }: Owner): Promise<void> {
  if (await isRevoked(transaction, guildId, keyId)) throw new ApiError('INVALID_API_KEY');
}

/** Throws MISSING_SCOPE if a key may read no type of one of the patterns. */
export function checkTypes(patterns: readonly string[], { scopes }: Owner): void {
  for (const pattern of patterns) {
    if (visibleTypes(scopes, [pattern]).length > 0) continue;
    const [type] = visibleTypes(null, [pattern]);
    throw new ApiError('MISSING_SCOPE', {
      message: `The API key may not read events of the type ${pattern}`,
      details: { required_scope: type && EVENT_TYPES[type].scope },
    });
  }
}

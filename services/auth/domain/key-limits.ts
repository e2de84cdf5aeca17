import { ApiError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import * as store from '../store/keys.ts';
import type { AuthTelemetry } from '../telemetry.ts';
import { type KeyRef, MAX_ACTIVE_KEYS, MAX_ROTATED_SECRETS } from './key.ts';

/** Throws CONFLICT if the guild has the maximum number of active API keys. The caller holds the lock of the guild. */
export async function requireFreeKey(
  transaction: Queryable,
  guildId: string,
  now: Date,
  telemetry: AuthTelemetry,
): Promise<void> {
  if ((await store.countActive(transaction, guildId, now)) < MAX_ACTIVE_KEYS) return;
  telemetry.keyRejectedOverLimit(guildId);
  throw new ApiError('CONFLICT', {
    message: `The guild has ${MAX_ACTIVE_KEYS} active keys, which is the maximum: revoke one first`,
  });
}

/**
 * Throws CONFLICT if the API key has the maximum number of rotated secrets that still work, because every change of the
 * key sends the hashes of all of them to every gateway. The caller holds the lock of the guild.
 */
export async function requireFreeRotation(transaction: Queryable, key: KeyRef, now: Date): Promise<void> {
  if ((await store.countRotated(transaction, key, now)) < MAX_ROTATED_SECRETS) return;
  throw new ApiError('CONFLICT', {
    message:
      `${MAX_ROTATED_SECRETS} rotated secrets of the key still work, which is the maximum: wait until one of them stops ` +
      'working, or rotate with a grace period of 0 seconds',
  });
}

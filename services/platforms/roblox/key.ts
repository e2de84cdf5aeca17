import { z } from 'zod';
import type { GameKey } from '../game.ts';
import type { PlatformHost } from '../http/host.ts';

const keySchema = z.object({
  enabled: z.boolean(),
  expired: z.boolean(),
  expirationTimeUtc: z.string().nullish(),
  scopes: z.array(
    z.object({
      name: z.string(),
      operations: z.array(z.string()).nullish(),
      // Left out, or `*`, for all universes of the owner.
      universeIds: z.array(z.string()).nullish(),
    }),
  ),
});

const UNKNOWN: GameKey = { isValid: false, expiresAt: null, allows: () => false };

/** Returns what the game platform reports about the operator's key. A key that it does not know is not valid. */
export async function readKey(host: PlatformHost, key: string): Promise<GameKey> {
  const body = { apiKey: key };
  const response = await host.call('/api-keys/v1/introspect', { method: 'POST', body, limit: 'introspection' });
  if (response.status === 400 || response.status === 401 || response.status === 404) return UNKNOWN;
  const { enabled, expired, expirationTimeUtc: end, scopes } = host.expect(response, keySchema);
  const expiresAt = end ? Date.parse(end) : Number.NaN;
  return {
    isValid: enabled && !expired,
    expiresAt: Number.isNaN(expiresAt) ? null : expiresAt,
    allows: (scope, operation, universeId) =>
      scopes.some(
        ({ name, operations, universeIds }) =>
          name === scope && operations?.includes(operation) === true && includesUniverse(universeIds, universeId),
      ),
  };
}

function includesUniverse(universeIds: readonly string[] | null | undefined, universeId: number | undefined): boolean {
  if (!universeIds || universeIds.length === 0 || universeIds.includes('*')) return true;
  return universeId === undefined || universeIds.includes(String(universeId));
}

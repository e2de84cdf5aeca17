import type { Queryable } from '#kit/postgres/pool.ts';
import type { Endpoint, EndpointSecrets } from '../domain/endpoint.ts';

type StoredSecrets = Pick<Endpoint, 'guildId' | 'id'> & EndpointSecrets;

/** Returns up to `limit` endpoints whose secrets are encrypted by one of the keys. */
export function findSecretsOfKeys(on: Queryable, keys: readonly string[], limit: number): Promise<StoredSecrets[]> {
  return on.query(
    `SELECT guild_id AS "guildId", id, secret, previous_secret AS "previousSecret"
     FROM events.endpoints WHERE secret_key = ANY ($1::text[]) LIMIT $2`,
    [keys, limit],
  );
}

/** Replaces the encrypted secrets of an endpoint, unless they were rotated meanwhile. */
export async function replaceSecrets(
  on: Queryable,
  { guildId, id, secret: expected }: StoredSecrets,
  { secret, previousSecret, secretKey }: EndpointSecrets & { secretKey: string },
): Promise<void> {
  await on.query(
    `UPDATE events.endpoints SET secret = $4, previous_secret = $5, secret_key = $6
     WHERE guild_id = $1 AND id = $2::uuid AND secret = $3`,
    [guildId, id, expected, secret, previousSecret, secretKey],
  );
}

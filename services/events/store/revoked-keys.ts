import type { Queryable } from '#kit/postgres/pool.ts';

/** Remembers that keys of a guild were revoked. Called under the lock of the guild's log. */
export async function addRevokedKeys(
  transaction: Queryable,
  guildId: string,
  keyIds: readonly string[],
): Promise<void> {
  await transaction.query(
    `INSERT INTO events.revoked_keys (guild_id, key_id) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING`,
    [guildId, keyIds],
  );
}

/**
 * True if a key of a guild was revoked lately. Under the lock of the guild's log no revocation can be missed: those that
 * are stored later disable the webhooks of the key.
 */
export async function isRevoked(transaction: Queryable, guildId: string, keyId: string): Promise<boolean> {
  const found = await transaction.query('SELECT FROM events.revoked_keys WHERE guild_id = $1 AND key_id = $2', [
    guildId,
    keyId,
  ]);
  return found.length > 0;
}

import type { Queryable } from '#kit/postgres/pool.ts';

export interface TokenRow {
  id: number;
  chatId: string;
  expiresAt: Date;
  /**
   * The operation ID of the link change that has reserved the token to redeem it; null if the token is not reserved.
   */
  operationId: string | null;
  completedAt: Date | null;
  gameId: number | null;
}

export interface NewToken {
  tokenMac: Buffer;
  codeMac: Buffer;
  chatId: string;
  createdAt: Date;
  expiresAt: Date;
}

/** Stores a new verification token. Returns false if the guild has the same token or code already. */
export async function insertToken(on: Queryable, guildId: string, token: NewToken): Promise<boolean> {
  const inserted = await on.query(
    `INSERT INTO members.verification_tokens (guild_id, token_mac, code_mac, chat_id, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING id`,
    [guildId, token.tokenMac, token.codeMac, token.chatId, token.createdAt, token.expiresAt],
  );
  return inserted.length > 0;
}

/**
 * Finds a guild's verification token by the MACs of the token or of the code; `macs` has one MAC for each key of the
 * ring.
 */
export async function findToken(
  on: Queryable,
  guildId: string,
  by: 'token' | 'code',
  macs: readonly Buffer[],
): Promise<TokenRow | undefined> {
  const [token] = await on.query<TokenRow>(
    `SELECT id, chat_id AS "chatId", expires_at AS "expiresAt", operation_id AS "operationId",
       completed_at AS "completedAt", game_id AS "gameId"
     FROM members.verification_tokens WHERE guild_id = $1 AND ${by}_mac = ANY($2)`,
    [guildId, macs],
  );
  return token;
}

/** Reserves a verification token for a link change. Returns false if the token is reserved, used or expired. */
export async function reserveToken(
  on: Queryable,
  guildId: string,
  id: number,
  operationId: string,
  now: Date,
): Promise<boolean> {
  const reserved = await on.query(
    `UPDATE members.verification_tokens SET operation_id = $3
     WHERE guild_id = $1 AND id = $2 AND operation_id IS NULL AND completed_at IS NULL AND expires_at > $4
     RETURNING id`,
    [guildId, id, operationId, now],
  );
  return reserved.length > 0;
}

/** Marks a verification token as used, after its link change has linked the player. */
export async function completeToken(
  on: Queryable,
  guildId: string,
  id: number,
  gameId: number,
  now: Date,
): Promise<void> {
  await on.query(
    `UPDATE members.verification_tokens SET operation_id = NULL, completed_at = $4, game_id = $3
     WHERE guild_id = $1 AND id = $2`,
    [guildId, id, gameId, now],
  );
}

/** Makes a verification token usable again, after its link change was rejected. */
export async function releaseToken(on: Queryable, guildId: string, id: number): Promise<void> {
  await on.query('UPDATE members.verification_tokens SET operation_id = NULL WHERE guild_id = $1 AND id = $2', [
    guildId,
    id,
  ]);
}

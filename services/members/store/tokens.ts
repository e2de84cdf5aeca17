import type { Queryable } from '#kit/postgres/pool.ts';

export interface TokenRow {
  id: number;
  chatId: string;
  expiresAt: Date;
  /** The intent that redeems it now. */
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

/** False when the guild has that token or code already. */
export async function insertToken(on: Queryable, guildId: string, token: NewToken): Promise<boolean> {
  const inserted = await on.query(
    `INSERT INTO members.verification_tokens (guild_id, token_mac, code_mac, chat_id, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING id`,
    [guildId, token.tokenMac, token.codeMac, token.chatId, token.createdAt, token.expiresAt],
  );
  return inserted.length > 0;
}

/** The guild's token with one of these MACs, of its token or of its code. */
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

/** Takes a token for an intent; false when it is taken, used or expired. */
export async function holdToken(
  on: Queryable,
  guildId: string,
  id: number,
  operationId: string,
  now: Date,
): Promise<boolean> {
  const held = await on.query(
    `UPDATE members.verification_tokens SET operation_id = $3
     WHERE guild_id = $1 AND id = $2 AND operation_id IS NULL AND completed_at IS NULL AND expires_at > $4
     RETURNING id`,
    [guildId, id, operationId, now],
  );
  return held.length > 0;
}

/** The intent that held the token has linked the player. */
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

/** The intent that held the token was refused: the token works again. */
export async function freeToken(on: Queryable, guildId: string, id: number): Promise<void> {
  await on.query('UPDATE members.verification_tokens SET operation_id = NULL WHERE guild_id = $1 AND id = $2', [
    guildId,
    id,
  ]);
}

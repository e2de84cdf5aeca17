import type { Claim } from '#kit/idempotency.ts';
import type { Queryable } from '#kit/postgres.ts';

/** What is to become of a link. A redeem and a link name both accounts, an unlink one of them. */
export interface Change {
  kind: 'redeem' | 'link' | 'unlink';
  chatId: string | null;
  gameId: number | null;
  gameUsername: string | null;
  /** Of a redeem. */
  tokenId: number | null;
}

/** A change that is under way in two stores. */
export interface Intent extends Change {
  guildId: string;
  /** A UUID that names the change in lookup. */
  operationId: string;
  /** The kept answer that it settles, where its caller gave an Idempotency-Key. */
  claim: Claim | null;
  createdAt: Date;
  dueAt: Date;
  /** How often it was tried in vain. */
  failures: number;
}

/** Whether two requests ask for the very same. */
export function isSameChange(one: Change, other: Change): boolean {
  const fields = ['kind', 'chatId', 'gameId', 'gameUsername', 'tokenId'] as const;
  return fields.every((field) => one[field] === other[field]);
}

const INTENT = `guild_id AS "guildId", operation_id AS "operationId", kind, chat_id AS "chatId", game_id AS "gameId",
  game_username AS "gameUsername", token_id AS "tokenId", claim, created_at AS "createdAt", due_at AS "dueAt", failures`;

/** Writes an intent; false where its operation has one already. */
export async function insertIntent(on: Queryable, intent: Intent): Promise<boolean> {
  const written = await on.query(
    `INSERT INTO members.intents
       (guild_id, operation_id, kind, chat_id, game_id, game_username, token_id, claim, created_at, due_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING RETURNING 1`,
    [
      intent.guildId,
      intent.operationId,
      intent.kind,
      intent.chatId,
      intent.gameId,
      intent.gameUsername,
      intent.tokenId,
      intent.claim && keptClaim(intent.claim),
      intent.createdAt,
      intent.dueAt,
    ],
  );
  return written.length > 0;
}

/** The intent of an operation, finished or not; undefined when there is none. */
export async function findIntent(on: Queryable, guildId: string, operationId: string): Promise<Intent | undefined> {
  const [intent] = await on.query<Intent>(
    `SELECT ${INTENT} FROM members.intents WHERE guild_id = $1 AND operation_id = $2`,
    [guildId, operationId],
  );
  return intent;
}

/** The oldest intents that are not finished and touch either account. */
export function openIntents(
  on: Queryable,
  guildId: string,
  { chatId, gameId }: Pick<Change, 'chatId' | 'gameId'>,
  limit: number,
): Promise<Intent[]> {
  return on.query(
    `SELECT ${INTENT} FROM members.intents
     WHERE guild_id = $1 AND finished_at IS NULL AND (chat_id = $2 OR game_id = $3)
     ORDER BY created_at LIMIT $4`,
    [guildId, chatId, gameId, limit],
  );
}

/** Takes intents of all guilds that are due; other replicas pass them over until `until`. */
export function takeDueIntents(on: Queryable, now: Date, until: Date, limit: number): Promise<Intent[]> {
  return on.query(
    `WITH due AS MATERIALIZED (
       SELECT guild_id AS guild, operation_id AS operation FROM members.intents
       WHERE finished_at IS NULL AND due_at <= $1
       ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED
     )
     UPDATE members.intents SET due_at = $2 FROM due WHERE guild_id = due.guild AND operation_id = due.operation
     RETURNING ${INTENT}`,
    [now, until, limit],
  );
}

/** True for the one caller that finishes the intent. */
export async function finishIntent(
  on: Queryable,
  { guildId, operationId }: Pick<Intent, 'guildId' | 'operationId'>,
  now: Date,
): Promise<boolean> {
  const finished = await on.query(
    `UPDATE members.intents SET finished_at = $3
     WHERE guild_id = $1 AND operation_id = $2 AND finished_at IS NULL RETURNING 1`,
    [guildId, operationId, now],
  );
  return finished.length > 0;
}

/** An attempt to finish the intent was in vain. */
export async function countFailure(
  on: Queryable,
  { guildId, operationId }: Pick<Intent, 'guildId' | 'operationId'>,
): Promise<void> {
  await on.query('UPDATE members.intents SET failures = failures + 1 WHERE guild_id = $1 AND operation_id = $2', [
    guildId,
    operationId,
  ]);
}

/** Only the answer is settled later, so the body that was asked with is not kept. */
function keptClaim({ id, until, write: { guildId, method, path, key, status, message } }: Claim) {
  return { id, until, write: { guildId, method, path, key, status, message } };
}

import type { Claim } from '#kit/postgres/idempotency.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { QueueTable } from '#kit/queue/definition.ts';

/** A change of a link. A redeem and a link name both accounts, an unlink only one of them. */
export interface Change {
  kind: 'redeem' | 'link' | 'unlink';
  chatId: string | null;
  gameId: number | null;
  gameUsername: string | null;
  /** Only for a redeem. */
  tokenId: number | null;
}

/** A change of a link that is being made in two stores. */
export interface Intent extends Change {
  guildId: string;
  /** A UUID that names the change in lookup. */
  operationId: string;
  /** The claim on the stored response that it settles, if the request had an Idempotency-Key. */
  claim: Claim | null;
  /** The request that started it has failed or given up, by the database's clock. */
  isAbandoned: boolean;
}

/** An intent before it is stored. */
export type NewIntent = Omit<Intent, 'isAbandoned'>;

/** Whether two changes are the same. */
export function isSameChange(one: Change, other: Change): boolean {
  const fields = ['kind', 'chatId', 'gameId', 'gameUsername', 'tokenId'] as const;
  return fields.every((field) => one[field] === other[field]);
}

const INTENT = `guild_id AS "guildId", operation_id AS "operationId", kind, chat_id AS "chatId", game_id AS "gameId",
  game_username AS "gameUsername", token_id AS "tokenId", claim,
  (failures > 0 OR last_error IS NOT NULL OR due_at <= clock_timestamp()) AS "isAbandoned"`;

/**
 * Intents as a queue: the request that stores an intent holds its lease, and a worker takes intents that were left
 * unfinished. It needs no order: each change of an account first finishes the open intents on it, dead letters too.
 */
export const INTENTS: QueueTable = {
  name: 'members.intents',
  id: 'operation_id',
  idType: 'uuid',
  columns: { runAt: 'due_at', attempts: 'failures' },
  data: `operation_id AS "operationId", kind, chat_id AS "chatId", game_id AS "gameId",
    game_username AS "gameUsername", token_id AS "tokenId", claim`,
};

/** Stores an intent and leases it to the request; false if its operation already has one. */
export async function insertIntent(on: Queryable, intent: NewIntent, leaseMs: number): Promise<boolean> {
  const written = await on.query(
    `INSERT INTO members.intents
       (guild_id, operation_id, kind, chat_id, game_id, game_username, token_id, claim, due_at, leased_until)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() + $9::float8 * interval '1 millisecond',
       clock_timestamp() + $9::float8 * interval '1 millisecond') ON CONFLICT DO NOTHING RETURNING 1`,
    [
      intent.guildId,
      intent.operationId,
      intent.kind,
      intent.chatId,
      intent.gameId,
      intent.gameUsername,
      intent.tokenId,
      intent.claim && storedClaim(intent.claim),
      leaseMs,
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

/** The oldest unfinished intents on either account. */
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

/** Finishes an intent; true for only one of concurrent callers. */
export async function finishIntent(
  on: Queryable,
  { guildId, operationId }: Pick<Intent, 'guildId' | 'operationId'>,
): Promise<boolean> {
  const finished = await on.query(
    `UPDATE members.intents SET state = 'done', leased_until = NULL, finished_at = clock_timestamp()
     WHERE guild_id = $1 AND operation_id = $2 AND finished_at IS NULL RETURNING 1`,
    [guildId, operationId],
  );
  return finished.length > 0;
}

/** The request that started an intent has failed: a repeat may finish it immediately, and a worker when it is due. */
export async function abandonIntent(
  on: Queryable,
  { guildId, operationId }: Pick<Intent, 'guildId' | 'operationId'>,
  error: string,
): Promise<void> {
  await on.query(
    `UPDATE members.intents SET leased_until = NULL, last_error = $3
     WHERE guild_id = $1 AND operation_id = $2 AND finished_at IS NULL AND failures = 0`,
    [guildId, operationId, error],
  );
}

/** Without the request's body: only the response is settled later. */
function storedClaim({ id, until, write: { guildId, method, path, key, status, message } }: Claim) {
  return { id, until, write: { guildId, method, path, key, status, message } };
}

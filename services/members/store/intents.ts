import type { EventSource } from '#kit/events/source.ts';
import type { Claim } from '#kit/postgres/idempotency/idempotency.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { QueueTable } from '#kit/queue/definition.ts';

/**
 * A requested change of the link between a chat account and a game account. Redeeming a verification token or code and
 * linking name both accounts; unlinking names only one of them.
 */
export interface Change {
  kind: 'redeem' | 'link' | 'unlink';
  chatId: string | null;
  gameId: number | null;
  gameUsername: string | null;
  /** The ID of the redeemed verification token; null for other kinds of change. */
  tokenId: number | null;
}

/**
 * The stored plan of a link change, which is made in two databases: that of the lookup service and that of this
 * service.
 */
export interface Intent extends Change {
  guildId: string;
  /**
   * A UUID that identifies the link change in calls to the lookup service, so that a repeated call does not make the
   * change a second time.
   */
  operationId: string;
  /**
   * The claim on the request's Idempotency-Key. When this change is finished, its response is stored under the key,
   * which ends the claim. Null without an Idempotency-Key.
   */
  claim: Claim | null;
  /** The source of the events of the change; null for the service itself. */
  source: EventSource | null;
  /**
   * True if the request that started the link change no longer waits for it: the request has failed, or its time is
   * over by the database's clock.
   */
  isAbandoned: boolean;
}

/** The plan of a link change before it is stored. */
export type NewIntent = Omit<Intent, 'isAbandoned'>;

/** Returns true if two link changes have the same kind, accounts and token. */
export function isSameChange(one: Change, other: Change): boolean {
  const fields = ['kind', 'chatId', 'gameId', 'gameUsername', 'tokenId'] as const;
  return fields.every((field) => one[field] === other[field]);
}

const INTENT = `guild_id AS "guildId", operation_id AS "operationId", kind, chat_id AS "chatId", game_id AS "gameId",
  game_username AS "gameUsername", token_id AS "tokenId", claim, source,
  (failures > 0 OR last_error IS NOT NULL OR due_at <= clock_timestamp()) AS "isAbandoned"`;

/**
 * The queue of link changes. The request that stores an intent (the plan of a change) also leases it; a background
 * worker takes over intents that their requests left unfinished. The queue needs no order, because each change of an
 * account first finishes the account's unfinished intents, including dead letters.
 */
export const INTENTS: QueueTable = {
  name: 'members.intents',
  id: 'operation_id',
  idType: 'uuid',
  columns: { runAt: 'due_at', attempts: 'failures' },
  data: `operation_id AS "operationId", kind, chat_id AS "chatId", game_id AS "gameId",
    game_username AS "gameUsername", token_id AS "tokenId", claim, source`,
};

/**
 * Stores the intent (plan) of a link change and leases it to the calling request for `leaseMs`. Returns false if an
 * intent with this operation ID is already stored.
 */
export async function insertIntent(on: Queryable, intent: NewIntent, leaseMs: number): Promise<boolean> {
  const written = await on.query(
    `INSERT INTO members.intents
       (guild_id, operation_id, kind, chat_id, game_id, game_username, token_id, claim, source, due_at, leased_until)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp() + $10::float8 * interval '1 millisecond',
       clock_timestamp() + $10::float8 * interval '1 millisecond') ON CONFLICT DO NOTHING RETURNING 1`,
    [
      intent.guildId,
      intent.operationId,
      intent.kind,
      intent.chatId,
      intent.gameId,
      intent.gameUsername,
      intent.tokenId,
      intent.claim && storedClaim(intent.claim),
      intent.source,
      leaseMs,
    ],
  );
  return written.length > 0;
}

/** Returns the intent (stored link change) of an operation, finished or not; undefined if there is none. */
export async function findIntent(on: Queryable, guildId: string, operationId: string): Promise<Intent | undefined> {
  const [intent] = await on.query<Intent>(
    `SELECT ${INTENT} FROM members.intents WHERE guild_id = $1 AND operation_id = $2`,
    [guildId, operationId],
  );
  return intent;
}

/** Returns the oldest unfinished intents (stored link changes) of either account. */
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

/** Marks an intent (stored link change) as finished. Returns true to only one of several concurrent callers. */
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

/**
 * Marks an intent (stored link change) as abandoned by its request: a repeated request may finish it immediately, and a
 * worker when it is due.
 */
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

/**
 * Returns an idempotency claim in the form in which an intent stores it. The hash of the request's body is left out,
 * because it is not needed to store the response later.
 */
function storedClaim({ id, until, write: { guildId, method, path, key, status, message } }: Claim) {
  return { id, until, write: { guildId, method, path, key, status, message } };
}

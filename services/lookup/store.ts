import { isUniqueViolation, prepared, type Queryable } from '#kit/postgres.ts';

export interface Link {
  chatId: string;
  gameId: number;
  gameUsername: string;
  /** Another one whenever the account is linked anew. */
  version: number;
}

export interface LinkChange {
  action: 'linked' | 'unlinked';
  chatId: string;
  gameId: number;
  gameUsername: string;
  createdAt: Date;
}

/** A place in the order of changes. */
export interface Position {
  /** Microseconds since 1970, as the table has them. */
  updatedAt: number;
  chatId: string;
}

/** Which side of a link an account is on. */
export type Account = { chatId: string } | { gameId: number };

const LINK = 'chat_id AS "chatId", game_id AS "gameId", game_username AS "gameUsername", version';

const FIND_LINKS = prepared(
  `SELECT link.* FROM unnest((SELECT $2::text[])) AS asked (chat_id)
   CROSS JOIN LATERAL (
     SELECT ${LINK} FROM lookup.links WHERE guild_id = $1 AND chat_id = asked.chat_id LIMIT 1
   ) AS link
   UNION
   SELECT link.* FROM unnest((SELECT $3::bigint[])) AS asked (game_id)
   CROSS JOIN LATERAL (
     SELECT ${LINK} FROM lookup.links WHERE guild_id = $1 AND game_id = asked.game_id LIMIT 1
   ) AS link`,
);

/** The links of these users, each once; at most as many as IDs are given. */
export function findLinks(
  on: Queryable,
  guildId: string,
  { chatIds = [], gameIds = [] }: { chatIds?: readonly string[]; gameIds?: readonly number[] },
): Promise<Link[]> {
  return on.query(FIND_LINKS, [guildId, chatIds, gameIds]);
}

/** Up to `limit` links past a position, the least recently changed first. */
export function listLinks(
  on: Queryable,
  guildId: string,
  { updatedAt, chatId }: Position,
  limit: number,
): Promise<(Link & { updatedAt: number })[]> {
  return on.query(
    `SELECT ${LINK}, (extract(epoch FROM updated_at) * 1000000)::bigint AS "updatedAt" FROM lookup.links
     WHERE guild_id = $1
       AND (updated_at, chat_id) > (timestamptz 'epoch' + $2::float8 * interval '1 microsecond', $3)
     ORDER BY updated_at, chat_id LIMIT $4`,
    [guildId, updatedAt, chatId, limit],
  );
}

/** How many links a guild has: read from a few rows that the table of links keeps, whatever their number. */
export async function countLinks(on: Queryable, guildId: string): Promise<number> {
  const [row] = await on.query<{ count: number }>(
    'SELECT coalesce(sum(count), 0)::int AS count FROM lookup.link_counts WHERE guild_id = $1',
    [guildId],
  );
  return row?.count ?? 0;
}

/** The newest changes of a chat account's links, and in each row the version of the link it has now. */
export function listChanges(
  on: Queryable,
  guildId: string,
  chatId: string,
  limit: number,
): Promise<(LinkChange & { version: number; linkedVersion: number | null })[]> {
  return on.query(
    `SELECT change.action, change.chat_id AS "chatId", change.game_id AS "gameId",
       change.game_username AS "gameUsername", change.created_at AS "createdAt", change.version,
       link.version AS "linkedVersion"
     FROM lookup.link_history change
     LEFT JOIN lookup.links link ON link.guild_id = $1 AND link.chat_id = $2
     WHERE change.guild_id = $1 AND change.chat_id = $2
     ORDER BY change.id DESC LIMIT $3`,
    [guildId, chatId, limit],
  );
}

/** Names a write; decided once, whatever its outcome. */
const DECIDE = `INSERT INTO lookup.operations (guild_id, operation_id, created_at) VALUES ($1, $2, $3)
  ON CONFLICT DO NOTHING RETURNING guild_id`;

const NOTE = `INSERT INTO lookup.link_history
  (guild_id, id, operation_id, action, chat_id, game_id, game_username, version, created_at)`;

/** Links two accounts, unless either is linked or the operation was decided before: then nothing is returned. */
export function insertLink(
  on: Queryable,
  guildId: string,
  operationId: string,
  now: Date,
  { chatId, gameId, gameUsername }: Omit<Link, 'version'>,
): Promise<Link | undefined> {
  return decide(
    on,
    `WITH operation AS (${DECIDE}), linked AS (
       INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
       SELECT guild_id, $4, $5::bigint, $6, nextval('lookup.link_history_id_seq'), $3, $3 FROM operation
       ON CONFLICT DO NOTHING
       RETURNING *
     ), noted AS (
       ${NOTE} SELECT guild_id, version, $2, 'linked', chat_id, game_id, game_username, version, $3 FROM linked
     )
     SELECT ${LINK} FROM linked`,
    [guildId, operationId, now, chatId, gameId, gameUsername],
  );
}

/** Removes a link, unless there is none or the operation was decided before: then nothing is returned. */
export function deleteLink(
  on: Queryable,
  guildId: string,
  operationId: string,
  now: Date,
  account: Account,
): Promise<Link | undefined> {
  const [side, id] = 'chatId' in account ? ['chat_id', account.chatId] : ['game_id', account.gameId];
  return decide(
    on,
    `WITH operation AS (${DECIDE}), unlinked AS (
       DELETE FROM lookup.links USING operation WHERE links.guild_id = $1 AND links.${side} = $4
       RETURNING links.*
     ), noted AS (
       ${NOTE} SELECT guild_id, nextval('lookup.link_history_id_seq'), $2, 'unlinked', chat_id, game_id,
         game_username, version, $3 FROM unlinked
     )
     SELECT ${LINK} FROM unlinked`,
    [guildId, operationId, now, id],
  );
}

/** The link that an operation made or removed; undefined when it did neither. */
export async function findOutcome(
  on: Queryable,
  guildId: string,
  operationId: string,
  action: LinkChange['action'],
): Promise<Link | undefined> {
  const [link] = await on.query<Link>(
    `SELECT ${LINK} FROM lookup.link_history WHERE guild_id = $1 AND operation_id = $2 AND action = $3`,
    [guildId, operationId, action],
  );
  return link;
}

/** Runs a write; an operation that is older than our memory of operations shows in the history. */
async function decide(on: Queryable, text: string, values: unknown[]): Promise<Link | undefined> {
  try {
    const [link] = await on.query<Link>(text, values);
    return link;
  } catch (error) {
    if (isUniqueViolation(error, 'link_history_operation')) return undefined;
    throw error;
  }
}

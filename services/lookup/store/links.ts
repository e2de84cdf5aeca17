import type { ApiError } from '#kit/errors.ts';
import { byGuildOrError, guildOf, guildStatement } from '#kit/postgres/citus/by-guild.ts';
import { isUniqueViolation, prepared, type Queryable } from '#kit/postgres/pool.ts';

export interface Link {
  chatId: string;
  gameId: number;
  gameUsername: string;
  /** The version of the link, which changes whenever the account is linked again. */
  version: number;
}

/** A link that was removed just now. */
export interface RemovedLink extends Link {
  removedAt: Date;
}

export interface LinkChange {
  action: 'linked' | 'unlinked';
  chatId: string;
  gameId: number;
  gameUsername: string;
  createdAt: Date;
}

/** A position in the list of links ordered by the time of their last change. */
export interface Position {
  /** The time of the link's last change in microseconds since 1970, the precision of the table. */
  updatedAt: number;
  chatId: string;
}

/** The ID of the chat account or of the game account of a link. */
export type Account = { chatId: string } | { gameId: number };

const LINK = 'chat_id AS "chatId", game_id AS "gameId", game_username AS "gameUsername", version';

const FIND_LINKS = guildStatement(
  6,
  (andGuild) => `SELECT wanted.request, link.*
   FROM unnest((SELECT $1::int[]), (SELECT $2::text[]), (SELECT $3::text[])) AS wanted (request, guild_id, chat_id)
   CROSS JOIN LATERAL (
     SELECT ${LINK} FROM lookup.links
     WHERE guild_id = wanted.guild_id AND chat_id = wanted.chat_id ${andGuild('links')} LIMIT 1
   ) AS link
   UNION ALL
   SELECT wanted.request, link.*
   FROM unnest((SELECT $4::int[]), (SELECT $5::text[]), (SELECT $6::bigint[])) AS wanted (request, guild_id, game_id)
   CROSS JOIN LATERAL (
     SELECT ${LINK} FROM lookup.links
     WHERE guild_id = wanted.guild_id AND game_id = wanted.game_id ${andGuild('links')} LIMIT 1
   ) AS link`,
  prepared,
);

/** A request for the links of users in a guild. */
export interface LinksRequest {
  guildId: string;
  chatIds?: readonly string[] | undefined;
  gameIds?: readonly number[] | undefined;
}

/**
 * Reads the links for several requests in one statement. Returns a list for each request, with each link once. With Citus there is one
 * statement per guild, and requests for a guild that could not be read get an error instead of a list.
 */
export function findLinks(on: Queryable, requests: readonly LinksRequest[]): Promise<(Link[] | ApiError)[]> {
  return byGuildOrError(on, requests, guildOf, async (part, run) => {
    const rows = await run<Link & { request: number }>(FIND_LINKS, accountsOf(part));
    // The key is the chat account, so that a link occurs once even if the request names both of its accounts.
    const found = part.map(() => new Map<string, Link>());
    for (const { request, ...link } of rows) found[request]?.set(link.chatId, link);
    return found.map((links) => [...links.values()]);
  });
}

/** The values of FIND_LINKS: the number, guild and ID of each requested account, first of chat accounts, then of game accounts. */
function accountsOf(requests: readonly LinksRequest[]): unknown[] {
  const byChat = { requests: [] as number[], guilds: [] as string[], ids: [] as string[] };
  const byGame = { requests: [] as number[], guilds: [] as string[], ids: [] as number[] };
  for (const [number, { guildId, chatIds = [], gameIds = [] }] of requests.entries()) {
    for (const id of chatIds) add(byChat, number, guildId, id);
    for (const id of gameIds) add(byGame, number, guildId, id);
  }
  return [byChat, byGame].flatMap(({ requests: numbers, guilds, ids }) => [numbers, guilds, ids]);
}

function add<Id>(
  wanted: { requests: number[]; guilds: string[]; ids: Id[] },
  request: number,
  guildId: string,
  id: Id,
): void {
  wanted.requests.push(request);
  wanted.guilds.push(guildId);
  wanted.ids.push(id);
}

/** A link that was created or removed, with the time of this change. */
export interface ChangedLink extends Link {
  /** The time of the change in microseconds since 1970, the precision of the table. */
  updatedAt: number;
  isUnlinked: boolean;
  /** True if the two accounts of a removed link are linked to each other again. */
  isLinkedAgain: boolean;
}

const MICROSECONDS = (column: string) => `(extract(epoch FROM ${column}) * 1000000)::bigint AS "updatedAt"`;
const POSITION = `(timestamptz 'epoch' + $2::float8 * interval '1 microsecond', $3)`;

/** Reads up to `limit` links after a position and, if requested, removed links, the least recently changed first. */
export function listLinks(
  on: Queryable,
  guildId: string,
  { updatedAt, chatId }: Position,
  { limit, withUnlinked }: { limit: number; withUnlinked: boolean },
): Promise<ChangedLink[]> {
  return on.query(
    `SELECT changes.*, "isUnlinked" AND EXISTS (SELECT FROM lookup.links again WHERE again.guild_id = $1
       AND again.chat_id = changes."chatId" AND again.game_id = changes."gameId") AS "isLinkedAgain"
     FROM (
       (SELECT ${LINK}, ${MICROSECONDS('updated_at')}, false AS "isUnlinked" FROM lookup.links
        WHERE guild_id = $1 AND (updated_at, chat_id) > ${POSITION} ORDER BY updated_at, chat_id LIMIT $4)
       UNION ALL
       (SELECT ${LINK}, ${MICROSECONDS('created_at')}, true AS "isUnlinked" FROM lookup.link_history
        WHERE $5 AND guild_id = $1 AND action = 'unlinked' AND (created_at, chat_id) > ${POSITION}
        ORDER BY created_at, chat_id LIMIT $4)
     ) AS changes ORDER BY "updatedAt", "chatId", "isUnlinked" DESC LIMIT $4`,
    [guildId, updatedAt, chatId, limit, withUnlinked],
  );
}

/**
 * Returns the number of links of a guild. Triggers on the table of links maintain a few count rows per guild, so
 * counting is fast even in a large guild.
 */
export async function countLinks(on: Queryable, guildId: string): Promise<number> {
  const [row] = await on.query<{ count: number }>(
    'SELECT coalesce(sum(count), 0)::int AS count FROM lookup.link_counts WHERE guild_id = $1',
    [guildId],
  );
  return row?.count ?? 0;
}

/**
 * Returns the newest changes of a chat account's links; each row also has the version of the account's current link.
 */
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

/**
 * SQL that stores the operation ID of a write, so that the write is executed only once, whatever its outcome. The time
 * of the change is taken after this row was inserted. By then the transaction has an ID, so readers that do not see the
 * change yet can see that the transaction is in progress.
 */
const OPERATION = `operation AS (
    INSERT INTO lookup.operations (guild_id, operation_id, created_at) VALUES ($1, $2, clock_timestamp())
    ON CONFLICT DO NOTHING RETURNING guild_id
  ), decided AS MATERIALIZED (SELECT guild_id, clock_timestamp() AS now FROM operation)`;

const INSERT_HISTORY = `INSERT INTO lookup.link_history
  (guild_id, id, operation_id, action, chat_id, game_id, game_username, version, created_at)`;

/**
 * Links a chat and a game account. Returns undefined if either account is linked or the operation was executed before.
 * Throws an error for which `isRepeatedOperation` is true if only the history of links shows that it was executed.
 */
export async function insertLink(
  on: Queryable,
  guildId: string,
  operationId: string,
  { chatId, gameId, gameUsername }: Omit<Link, 'version'>,
): Promise<Link | undefined> {
  const [link] = await on.query<Link>(
    `WITH ${OPERATION}, linked AS (
       INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
       SELECT guild_id, $3, $4::bigint, $5, nextval('lookup.link_history_id_seq'), now, now FROM decided
       ON CONFLICT DO NOTHING
       RETURNING *
     ), recorded AS (
       ${INSERT_HISTORY} SELECT guild_id, version, $2, 'linked', chat_id, game_id, game_username, version, linked_at
       FROM linked
     )
     SELECT ${LINK} FROM linked`,
    [guildId, operationId, chatId, gameId, gameUsername],
  );
  return link;
}

/**
 * Removes the link of an account. Returns undefined if the account is not linked or the operation was executed before.
 * Throws an error for which `isRepeatedOperation` is true if only the history of links shows that it was executed.
 */
export async function deleteLink(
  on: Queryable,
  guildId: string,
  operationId: string,
  account: Account,
): Promise<RemovedLink | undefined> {
  const [side, id] = 'chatId' in account ? ['chat_id', account.chatId] : ['game_id', account.gameId];
  const [link] = await on.query<RemovedLink>(
    `WITH ${OPERATION}, unlinked AS (
       DELETE FROM lookup.links USING decided WHERE links.guild_id = $1 AND links.${side} = $3
       RETURNING links.*, decided.now
     ), recorded AS (
       ${INSERT_HISTORY} SELECT guild_id, nextval('lookup.link_history_id_seq'), $2, 'unlinked', chat_id, game_id,
         game_username, version, now FROM unlinked
     )
     SELECT ${LINK}, now AS "removedAt" FROM unlinked`,
    [guildId, operationId, id],
  );
  return link;
}

/**
 * Returns true for the error of a write that was executed before, whose stored ID was deleted by retention: the history
 * of links still has the ID.
 */
export const isRepeatedOperation = (error: unknown) => isUniqueViolation(error, 'link_history_operation');

/** Returns the link that an operation created or removed; undefined if the operation was rejected. */
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

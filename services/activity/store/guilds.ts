import { byGuild, guildStatement, inDueGuilds, itself } from '#kit/postgres/citus/by-guild.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { type ChangedServer, MIN_LIVE_MS, SERVER } from './servers.ts';

/** The number of live game servers of a guild. */
export interface GuildCounts {
  guildId: string;
  /** The number of servers that are counted as live. From `nextLapseAt` on, some of them may no longer be live. */
  liveServers: number;
  /** The earliest time at which a counted server can stop being live; null if no server is counted. */
  nextLapseAt: Date | null;
}

const COUNTS = `guild_id AS "guildId", live_servers AS "liveServers", next_lapse_at AS "nextLapseAt"`;

/**
 * Locks guilds until the transaction ends, always in the same order. Servers become live and commands are sent only
 * under this lock, so that all processes see both in the same order.
 */
export async function lockGuilds(transaction: Queryable, guildIds: readonly string[]): Promise<GuildCounts[]> {
  return byGuild(transaction, guildIds.toSorted(), itself, async (part) => {
    await transaction.query(
      `INSERT INTO activity.guilds (guild_id) SELECT unnest($1::text[]) ORDER BY 1 ON CONFLICT (guild_id) DO NOTHING`,
      [part],
    );
    return transaction.query<GuildCounts>(
      `SELECT ${COUNTS} FROM activity.guilds WHERE guild_id = ANY($1) ORDER BY guild_id FOR UPDATE`,
      [part],
    );
  });
}

const MAY_LAPSE = 'next_lapse_at IS NOT NULL AND next_lapse_at <= $1';

const CLAIM_LAPSING = guildStatement(
  2,
  (andGuild) => `SELECT guild_id AS "guildId" FROM activity.guilds WHERE ${MAY_LAPSE} ${andGuild('guilds')}
       ORDER BY next_lapse_at LIMIT $2 FOR UPDATE SKIP LOCKED`,
);

/**
 * Locks up to `limit` guilds in which servers may have stopped being live, the longest due first, and returns their IDs.
 * Guilds that another transaction has locked are left to it or to the next call.
 */
export async function claimLapsing(transaction: Queryable, now: Date, limit: number): Promise<string[]> {
  const due = { table: 'activity.guilds', condition: MAY_LAPSE, order: 'next_lapse_at', values: [now], limit };
  const guilds = await inDueGuilds(transaction, due, (run) => run<{ guildId: string }>(CLAIM_LAPSING, [now, limit]));
  return guilds.map(({ guildId }) => guildId);
}

/**
 * The maximum number of servers that one sweep removes from the counts, with Citus of each guild; the others stay due.
 */
export const MAX_LAPSED = 5_000;

const COUNT_SERVERS = guildStatement(
  2,
  (andGuild) => `UPDATE activity.guilds SET live_servers = counted.servers,
         next_lapse_at = CASE WHEN counted.servers > 0 THEN least(counted.lapse, $2::timestamptz) END
       FROM unnest($1::text[]) AS swept (guild_id) CROSS JOIN LATERAL (
         SELECT count(*)::int AS servers, min(live_until) AS lapse FROM activity.servers
         WHERE servers.guild_id = swept.guild_id ${andGuild('servers')} AND is_counted
       ) AS counted
       WHERE guilds.guild_id = swept.guild_id ${andGuild('guilds')}
       RETURNING guilds.${COUNTS}`,
);

/**
 * Marks servers without recent heartbeats as not counted, deletes their players, and counts the remaining live servers
 * of the guilds. The guilds must be locked. A server whose row another transaction has locked stays counted, and so do
 * servers above MAX_LAPSED. Returns the servers that the caller must report as offline, and the new counts.
 */
export async function sweepGuilds(
  transaction: Queryable,
  guildIds: readonly string[],
  now: Date,
): Promise<{ lapsed: ChangedServer[]; guilds: GuildCounts[] }> {
  // Without statistics, or with those of a time when one guild had nearly all servers, PostgreSQL would read the whole table, and count
  // with a whole read for each guild. This applies to the rest of the transaction, whose statements read by indexes too.
  await transaction.query('SET LOCAL enable_seqscan = off');
  const lapsed = await byGuild(transaction, guildIds, itself, (part) =>
    transaction.query<ChangedServer>(
      `WITH lapsed AS MATERIALIZED (
       SELECT guild_id, server_id FROM activity.servers
       WHERE guild_id = ANY($1) AND is_counted AND live_until <= $2 LIMIT ${MAX_LAPSED} FOR UPDATE SKIP LOCKED
     )
     UPDATE activity.servers SET is_counted = false, players = NULL FROM lapsed
     WHERE servers.guild_id = lapsed.guild_id AND servers.guild_id = ANY($1) AND servers.server_id = lapsed.server_id
     RETURNING servers.guild_id AS "guildId", ${SERVER}`,
      [part, now],
    ),
  );
  // The next heartbeat of a server may shorten the time for which the server is live, but not below MIN_LIVE_MS.
  const soonest = new Date(now.getTime() + MIN_LIVE_MS);
  const guilds = await byGuild(transaction, guildIds, itself, (part, run) =>
    run<GuildCounts>(COUNT_SERVERS, [part, soonest]),
  );
  return { lapsed, guilds };
}

import type { Queryable } from '#kit/postgres/pool.ts';
import { EVERYWHERE } from './columns.ts';

/** The maximum number of guilds that are read to find one that can be compared. */
const MAX_WAITING = 100;

/** A guild that has turned the mirror on and whose mutes and timeouts are not all queued yet. */
export interface ComparedGuild {
  guildId: string;
  /** The last player with a mute that was queued; 0 at first. */
  mutesAfter: number;
  /** The last reported change of a timeout that was queued; 0 at first. */
  changesAfter: number;
}

/**
 * Stores which of the guilds after a guild, and up to the guild `end` if there is one, mirror timeouts: those of
 * `guildIds`.
 */
export async function storeTimeoutGuilds(
  transaction: Queryable,
  { after, end, guildIds }: { after: string; end: string | undefined; guildIds: readonly string[] },
): Promise<void> {
  await transaction.query(
    `DELETE FROM moderation.timeout_guilds
     WHERE guild_id > $1 AND ($2::text IS NULL OR guild_id <= $2) AND guild_id <> ALL($3::text[])`,
    [after, end ?? null, guildIds],
  );
  await transaction.query(
    `INSERT INTO moderation.timeout_guilds (guild_id)
     SELECT guild_id FROM unnest($1::text[]) AS wanted (guild_id) ORDER BY guild_id ON CONFLICT DO NOTHING`,
    [guildIds],
  );
}

/** Returns those of the guilds that mirror timeouts. */
export async function findTimeoutGuilds(on: Queryable, guildIds: readonly string[]): Promise<Set<string>> {
  const rows = await on.query<{ guildId: string }>(
    'SELECT guild_id AS "guildId" FROM moderation.timeout_guilds WHERE guild_id = ANY($1::text[])',
    [guildIds],
  );
  return new Set(rows.map(({ guildId }) => guildId));
}

/**
 * Stores for new guilds which transactions may not know yet that the guild mirrors timeouts. Such a transaction has got
 * its ID, and read the table, before the new row was visible.
 */
export async function noteNewGuilds(on: Queryable): Promise<void> {
  await on.query(
    `UPDATE moderation.timeout_guilds SET complete_from = pg_snapshot_xmax(pg_current_snapshot())
     WHERE compared_at IS NULL AND complete_from IS NULL`,
  );
}

/**
 * Locks a guild that is to be compared. Guilds that a transaction in flight may not know are left out, unless the ID is
 * that of another server, from which the database was restored.
 */
export async function lockComparedGuild(transaction: Queryable): Promise<ComparedGuild | undefined> {
  const waiting = await transaction.query<{ guildId: string; completeFrom: string | null }>(
    `SELECT guild_id AS "guildId", complete_from::text AS "completeFrom" FROM moderation.timeout_guilds
     WHERE compared_at IS NULL AND complete_from IS NOT NULL ORDER BY guild_id LIMIT ${MAX_WAITING}`,
  );
  // The snapshot must be taken after the guilds are read: their stored transaction IDs are then older. It is a separate statement,
  // because in one that reads the table Citus takes the snapshot on a worker, which has transaction IDs of its own.
  const [snapshot] = await transaction.query<{ oldest: string; next: string }>(
    `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS oldest,
       pg_snapshot_xmax(pg_current_snapshot())::text AS next`,
  );
  for (const { guildId, completeFrom } of waiting) {
    const from = BigInt(completeFrom ?? 0);
    if (snapshot && from > BigInt(snapshot.oldest) && from <= BigInt(snapshot.next)) continue;
    const [guild] = await transaction.query<ComparedGuild>(
      `SELECT guild_id AS "guildId", mutes_after AS "mutesAfter", changes_after AS "changesAfter"
       FROM moderation.timeout_guilds WHERE guild_id = $1 AND compared_at IS NULL FOR UPDATE SKIP LOCKED`,
      [guildId],
    );
    if (guild) return guild;
  }
  return undefined;
}

/**
 * Stores how far a guild is compared; with `isEnd`, that it is. Returns false if another process has done so since the guild
 * was read as `from`.
 */
export async function moveComparedGuild(
  transaction: Queryable,
  from: ComparedGuild,
  to: ComparedGuild,
  isEnd: boolean,
): Promise<boolean> {
  const moved = await transaction.query(
    `UPDATE moderation.timeout_guilds SET mutes_after = $4, changes_after = $5,
       compared_at = CASE WHEN $6 THEN now END
     FROM (SELECT clock_timestamp() AS now) AS clock
     WHERE guild_id = $1 AND mutes_after = $2 AND changes_after = $3 AND compared_at IS NULL RETURNING 1`,
    [from.guildId, from.mutesAfter, from.changesAfter, to.mutesAfter, to.changesAfter, isEnd],
  );
  return moved.length > 0;
}

/** Returns up to `limit` players, after a player, with a mute in force that applies everywhere. */
export async function listMutedPlayers(
  on: Queryable,
  guildId: string,
  after: number,
  limit: number,
): Promise<number[]> {
  const rows = await on.query<{ gameId: number }>(
    `SELECT game_id AS "gameId" FROM moderation.punishments
     WHERE guild_id = $1 AND game_id > $2 AND place_id = ${EVERYWHERE} AND kind = 'mute' AND ended_at IS NULL
       AND expires_at > (SELECT clock_timestamp())
     ORDER BY game_id LIMIT $3`,
    [guildId, after, limit],
  );
  return rows.map(({ gameId }) => gameId);
}

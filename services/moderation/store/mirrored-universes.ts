import { randomUUID } from 'node:crypto';
import type { Queryable } from '#kit/postgres/pool.ts';

/** A universe to which a guild's bans are mirrored. */
export interface MirroredUniverse {
  universeId: number;
  /** Whether a mirrored ban leaves out the player's alternative accounts. */
  excludeAlts: boolean;
}

/** The universes of a guild, as its settings have them. */
export interface GuildUniverses {
  guildId: string;
  universeIds: readonly number[];
  excludeAlts: boolean;
}

/** The largest number of universes of a guild. */
export const MAX_UNIVERSES = 20;

export function findUniverses(on: Queryable, guildId: string): Promise<MirroredUniverse[]> {
  return on.query(
    `SELECT universe_id AS "universeId", exclude_alts AS "excludeAlts" FROM moderation.mirrored_universes
     WHERE guild_id = $1 ORDER BY universe_id LIMIT ${MAX_UNIVERSES}`,
    [guildId],
  );
}

/** Returns the guilds whose bans are mirrored, after a guild and up to the guild `end`, if there is one. */
export function listMirroringGuilds(on: Queryable, after: string, end: string | undefined): Promise<GuildUniverses[]> {
  return on.query(
    `SELECT guild_id AS "guildId", array_agg(universe_id::float8 ORDER BY universe_id) AS "universeIds",
       bool_or(exclude_alts) AS "excludeAlts"
     FROM moderation.mirrored_universes WHERE guild_id > $1 AND ($2::text IS NULL OR guild_id <= $2)
     GROUP BY guild_id ORDER BY guild_id`,
    [after, end ?? null],
  );
}

/**
 * Stores the universes of a guild, and removes its others; their restrictions stay on the platform. Returns the universes
 * that belong to another guild.
 */
export async function storeUniverses(
  on: Queryable,
  { guildId, universeIds, excludeAlts }: GuildUniverses,
): Promise<number[]> {
  await on.query('DELETE FROM moderation.mirrored_universes WHERE guild_id = $1 AND universe_id <> ALL($2::bigint[])', [
    guildId,
    universeIds,
  ]);
  await on.query(
    `INSERT INTO moderation.mirrored_universes (guild_id, universe_id, exclude_alts, run_at, reconcile_at)
     SELECT $1, universe_id, $3, clock_timestamp(), clock_timestamp() FROM unnest($2::bigint[]) AS wanted (universe_id) ORDER BY universe_id
     ON CONFLICT DO NOTHING`,
    [guildId, universeIds, excludeAlts],
  );
  const owned = await on.query<{ universeId: number }>(
    `UPDATE moderation.mirrored_universes SET exclude_alts = $3
     WHERE guild_id = $1 AND universe_id = ANY($2::bigint[]) RETURNING universe_id AS "universeId"`,
    [guildId, universeIds, excludeAlts],
  );
  return universeIds.filter((id) => !owned.some(({ universeId }) => universeId === id));
}

/** A universe whose changes this process reads. */
export interface UniverseCheck extends MirroredUniverse {
  guildId: string;
  lease: string;
  logReadTo: Date | null;
  /** True if all bans are to be compared. */
  isReconciling: boolean;
  /** True before the first comparison. */
  isNew: boolean;
}

const DUE = `run_at <= (SELECT clock_timestamp()) AND (leased_until IS NULL OR leased_until <= (SELECT clock_timestamp()))`;

/** The number of due universes that a process tries to lease, in case other processes lease some of them first. */
const MAX_TRIED = 20;

/** Leases the universe that is due for longest; undefined if there is none. */
export async function claimUniverse(on: Queryable, leaseMs: number): Promise<UniverseCheck | undefined> {
  const due = await on.query<Pick<UniverseCheck, 'guildId' | 'universeId'>>(
    `SELECT guild_id AS "guildId", universe_id AS "universeId" FROM moderation.mirrored_universes
     WHERE ${DUE} ORDER BY run_at LIMIT ${MAX_TRIED}`,
  );
  for (const { guildId, universeId } of due) {
    // Not in one statement with the SELECT: with Citus each copy of the table would choose its universe for itself.
    const [claimed] = await on.query<UniverseCheck>(
      `UPDATE moderation.mirrored_universes
       SET holder = $4::uuid, leased_until = clock_timestamp() + $3::float8 * interval '1 millisecond'
       WHERE guild_id = $1 AND universe_id = $2 AND ${DUE}
       RETURNING guild_id AS "guildId", universe_id AS "universeId", exclude_alts AS "excludeAlts",
         holder::text AS lease, log_read_to AS "logReadTo", reconcile_at <= (SELECT clock_timestamp()) AS "isReconciling",
         reconciled_at IS NULL AS "isNew"`,
      [guildId, universeId, leaseMs, randomUUID()],
    );
    if (claimed) return claimed;
  }
  return undefined;
}

const HELD = 'guild_id = $1 AND universe_id = $2 AND holder = $3';

/** Extends the lease of a universe. Returns false if it was lost. */
export async function renewUniverse(
  on: Queryable,
  { guildId, universeId, lease }: UniverseCheck,
  leaseMs: number,
): Promise<boolean> {
  const rows = await on.query(
    `UPDATE moderation.mirrored_universes SET leased_until = clock_timestamp() + $4::float8 * interval '1 millisecond'
     WHERE ${HELD} RETURNING 1`,
    [guildId, universeId, lease, leaseMs],
  );
  return rows.length > 0;
}

/** The end of the reading of a universe. */
export interface CheckEnd {
  /** Milliseconds until the next reading. */
  nextMs: number;
  logReadTo: Date | null;
  error: string | null;
}

export async function endCheck(
  on: Queryable,
  { guildId, universeId, lease }: UniverseCheck,
  { nextMs, logReadTo, error }: CheckEnd,
): Promise<void> {
  await on.query(
    `UPDATE moderation.mirrored_universes SET holder = NULL, leased_until = NULL, last_error = $6, log_read_to = $5,
       run_at = clock_timestamp() + $4::float8 * interval '1 millisecond'
     WHERE ${HELD}`,
    [guildId, universeId, lease, nextMs, logReadTo, error],
  );
}

/** Stores the end of a comparison of all bans, and when the next one is due: in the night after the coming one. */
export async function endReconciliation(
  on: Queryable,
  { guildId, universeId, lease }: UniverseCheck,
  { compared, drifted, startedAt }: { compared: number; drifted: number; startedAt: Date },
): Promise<void> {
  await on.query(
    `UPDATE moderation.mirrored_universes SET reconciled_at = now, compared = $4, drifted = $5,
       -- A comparison that was requested meanwhile stays due.
       reconcile_at = CASE WHEN reconcile_at > $6 THEN reconcile_at ELSE next_at END
     FROM (SELECT clock_timestamp() AS now,
       date_trunc('day', clock_timestamp(), 'UTC') + interval '1 day' + (2 + 3 * $7::float8) * interval '1 hour' AS next_at) AS clock
     WHERE ${HELD}`,
    [guildId, universeId, lease, compared, drifted, startedAt, Math.random()],
  );
}

/** Requests a comparison of all bans of a guild. Returns the guild's universes. */
export async function requestReconciliation(on: Queryable, guildId: string): Promise<number[]> {
  const rows = await on.query<{ universeId: number }>(
    `UPDATE moderation.mirrored_universes SET reconcile_at = clock_timestamp(), run_at = clock_timestamp(), last_error = NULL
     WHERE guild_id = $1 RETURNING universe_id AS "universeId"`,
    [guildId],
  );
  return rows.map(({ universeId }) => universeId);
}

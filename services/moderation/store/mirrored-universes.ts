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
  /** True if all bans are to be compared in this reading. */
  isReconciling: boolean;
  /** True before the first comparison. */
  isNew: boolean;
}

const DUE = `run_at <= (SELECT clock_timestamp()) AND (leased_until IS NULL OR leased_until <= (SELECT clock_timestamp()))`;

/** The number of due universes that a process tries to lease, in case other processes lease some of them first. */
const MAX_TRIED = 20;

/** True if another universe of the guild `$1` than `$2` is being compared. */
const IS_OTHER_COMPARING = `EXISTS (
  SELECT FROM moderation.mirrored_universes AS other
  WHERE other.guild_id = $1 AND other.universe_id <> $2 AND other.is_comparing
    AND other.leased_until > (SELECT clock_timestamp()))`;

/**
 * Leases the universe that is due for longest; undefined if there is none. Its bans are to be compared if that is due,
 * `mayReconcile` is true, and no other universe of the guild is being compared; otherwise only its log is to be read.
 */
export async function claimUniverse(
  on: Queryable,
  leaseMs: number,
  mayReconcile: boolean,
): Promise<UniverseCheck | undefined> {
  const due = await on.query<Pick<UniverseCheck, 'guildId' | 'universeId'>>(
    `SELECT guild_id AS "guildId", universe_id AS "universeId" FROM moderation.mirrored_universes
     WHERE ${DUE} ORDER BY run_at LIMIT ${MAX_TRIED}`,
  );
  for (const { guildId, universeId } of due) {
    // Not in one statement with the SELECT: with Citus each copy of the table would choose its universe for itself.
    const [claimed] = await on.query<UniverseCheck>(
      `UPDATE moderation.mirrored_universes
       SET holder = $4::uuid, leased_until = clock_timestamp() + $3::float8 * interval '1 millisecond',
         is_comparing = $5 AND reconcile_at <= (SELECT clock_timestamp()) AND NOT ${IS_OTHER_COMPARING}
       WHERE guild_id = $1 AND universe_id = $2 AND ${DUE}
       RETURNING guild_id AS "guildId", universe_id AS "universeId", exclude_alts AS "excludeAlts",
         holder::text AS lease, log_read_to AS "logReadTo", is_comparing AS "isReconciling",
         reconciled_at IS NULL AS "isNew"`,
      [guildId, universeId, leaseMs, randomUUID(), mayReconcile],
    );
    if (claimed?.isReconciling && (await yieldComparison(on, claimed))) return { ...claimed, isReconciling: false };
    if (claimed) return claimed;
  }
  return undefined;
}

const HELD = 'guild_id = $1 AND universe_id = $2 AND holder = $3';

/**
 * Gives up a comparison that was just claimed if another universe of the guild is being compared. Two concurrent claims do
 * not see each other, but after both are committed at least one of them sees the other here.
 */
async function yieldComparison(on: Queryable, { guildId, universeId, lease }: UniverseCheck): Promise<boolean> {
  const rows = await on.query(
    `UPDATE moderation.mirrored_universes SET is_comparing = false WHERE ${HELD} AND ${IS_OTHER_COMPARING} RETURNING 1`,
    [guildId, universeId, lease],
  );
  return rows.length > 0;
}

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
    `UPDATE moderation.mirrored_universes SET holder = NULL, leased_until = NULL, is_comparing = false, last_error = $6,
       log_read_to = $5,
       run_at = clock_timestamp() + $4::float8 * interval '1 millisecond'
     WHERE ${HELD}`,
    [guildId, universeId, lease, nextMs, logReadTo, error],
  );
}

/**
 * Sets when the next comparison is due: tomorrow night, or now if one was requested after `startedAt`. The time is computed in
 * FROM, because Citus accepts no volatile function in CASE.
 */
const setNextComparison = (startedAt: string, random: string) => `
  reconcile_at = CASE WHEN reconcile_at > ${startedAt} THEN reconcile_at ELSE next_at END
  FROM (SELECT date_trunc('day', clock_timestamp(), 'UTC') + interval '1 day' + (2 + 3 * ${random}::float8) * interval '1 hour'
    AS next_at) AS clock`;

/** Stores the end of a comparison of all bans, and when the next one is due. */
export async function endReconciliation(
  on: Queryable,
  { guildId, universeId, lease }: UniverseCheck,
  { compared, drifted, startedAt }: { compared: number; drifted: number; startedAt: Date },
): Promise<void> {
  await on.query(
    `UPDATE moderation.mirrored_universes SET reconciled_at = clock_timestamp(), compared = $4, drifted = $5,
       compare_error = NULL, ${setNextComparison('$6', '$7')}
     WHERE ${HELD}`,
    [guildId, universeId, lease, compared, drifted, startedAt, Math.random()],
  );
}

/** Stores the error with which a comparison was aborted, and when the next one is due. */
export async function postponeReconciliation(
  on: Queryable,
  { guildId, universeId, lease }: UniverseCheck,
  { error, startedAt }: { error: string; startedAt: Date },
): Promise<void> {
  await on.query(
    `UPDATE moderation.mirrored_universes SET compare_error = $4, ${setNextComparison('$5', '$6')}
     WHERE ${HELD}`,
    [guildId, universeId, lease, error, startedAt, Math.random()],
  );
}

/**
 * Makes a comparison of all bans of a universe due, because its log cannot be read to the end. A comparison that was given
 * up until the next night stays so: it takes long, the log grows meanwhile, and it would be given up again.
 */
export async function needReconciliation(on: Queryable, { guildId, universeId, lease }: UniverseCheck): Promise<void> {
  await on.query(
    `UPDATE moderation.mirrored_universes SET reconcile_at = least(reconcile_at, clock_timestamp())
     WHERE ${HELD} AND compare_error IS NULL`,
    [guildId, universeId, lease],
  );
}

/** Requests a comparison of all bans of a guild. Returns the guild's universes. */
export async function requestReconciliation(on: Queryable, guildId: string): Promise<number[]> {
  const rows = await on.query<{ universeId: number }>(
    `UPDATE moderation.mirrored_universes SET reconcile_at = clock_timestamp(), run_at = clock_timestamp(),
       last_error = NULL, compare_error = NULL
     WHERE guild_id = $1 RETURNING universe_id AS "universeId"`,
    [guildId],
  );
  return rows.map(({ universeId }) => universeId);
}

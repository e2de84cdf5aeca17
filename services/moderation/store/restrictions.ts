import type { Queryable } from '#kit/postgres/pool.ts';
import type { AgreedState, RestrictionInForce, RestrictionScope } from '../domain/restrictions/restriction-state.ts';
import { EVERYWHERE } from './columns.ts';
import type { LeasedTask } from './mirror-tasks.ts';

/** A write to the platform that may be in flight. */
export interface PendingWrite {
  id: string;
  /** The ban that the write mirrors; null if it ends the restriction. */
  banId: number | null;
  durationSeconds: number | null;
  since: Date;
}

/** The mirror of a player's ban in one scope, as it is stored. */
export interface StoredRestriction extends RestrictionScope {
  agreed: AgreedState;
  /** The ID of the last write that the platform has acknowledged. */
  writtenId: string | null;
  pending: PendingWrite | undefined;
  /** True if the platform may have changed the restriction since. */
  needsRead: boolean;
  /** True if the place does not belong to the universe. */
  isForeign: boolean;
  /** The times of up to two last writes, in Unix milliseconds. */
  writtenAt: number[];
}

/** The largest number of scopes of a player that are read: the universes, and the places with a ban. */
export const MAX_SCOPES = 500;

interface Row {
  universeId: number;
  placeId: number | null;
  banId: number | null;
  banEnd: 'lifted' | 'expired' | null;
  startedAt: Date | null;
  endsAt: Date | null;
  writtenId: string | null;
  pendingId: string | null;
  pendingBanId: number | null;
  pendingSeconds: number | null;
  pendingSince: Date | null;
  needsRead: boolean;
  isForeign: boolean;
  writtenAt: Date | null;
  writtenBeforeAt: Date | null;
}

/** Returns the stored mirrors of a player's bans. */
export async function findRestrictions(on: Queryable, guildId: string, gameId: number): Promise<StoredRestriction[]> {
  const rows = await on.query<Row>(
    `SELECT universe_id AS "universeId", NULLIF(mirror.place_id, ${EVERYWHERE}) AS "placeId", punishment_id AS "banId",
       started_at AS "startedAt", NULLIF(ends_at, 'infinity') AS "endsAt", written_id AS "writtenId",
       pending_id AS "pendingId", pending_punishment_id AS "pendingBanId", pending_seconds AS "pendingSeconds",
       pending_since AS "pendingSince", needs_read AS "needsRead", written_at AS "writtenAt",
       COALESCE(foreign_until > clock_timestamp(), false) AS "isForeign", written_before_at AS "writtenBeforeAt",
       CASE WHEN punishment_id IS NULL THEN NULL
         WHEN ban.id IS NULL OR ban.ended_at < ban.expires_at THEN 'lifted'
         WHEN ban.expires_at <= clock_timestamp() THEN 'expired' END AS "banEnd"
     FROM moderation.restrictions mirror
     LEFT JOIN moderation.punishments ban ON ban.guild_id = mirror.guild_id AND ban.id = mirror.punishment_id
     WHERE mirror.guild_id = $1 AND mirror.game_id = $2
     ORDER BY universe_id, mirror.place_id LIMIT ${MAX_SCOPES}`,
    [guildId, gameId],
  );
  return rows.map(storedOf);
}

function storedOf(row: Row): StoredRestriction {
  const { universeId, placeId, banId, banEnd, writtenId, needsRead, isForeign } = row;
  const { startedAt, endsAt, pendingId, pendingBanId, pendingSeconds, pendingSince, writtenAt, writtenBeforeAt } = row;
  const restriction = startedAt && { startedAt: startedAt.getTime(), endsAt: endsAt?.getTime() ?? Infinity };
  const pending =
    pendingId === null || pendingSince === null
      ? undefined
      : { id: pendingId, banId: pendingBanId, durationSeconds: pendingSeconds, since: pendingSince };
  return {
    universeId,
    placeId,
    agreed: { banId, banEnd: banEnd ?? undefined, restriction },
    writtenId,
    pending,
    needsRead,
    isForeign,
    writtenAt: [writtenAt, writtenBeforeAt].flatMap((time) => (time ? [time.getTime()] : [])),
  };
}

/** Returns the IDs of those of the bans that exist, whether or not they are in force. */
export async function findBans(on: Queryable, guildId: string, ids: readonly number[]): Promise<number[]> {
  const rows = await on.query<{ id: number }>(
    `SELECT id FROM moderation.punishments WHERE guild_id = $1 AND id = ANY($2::bigint[])`,
    [guildId, ids],
  );
  return rows.map(({ id }) => id);
}

const KEY = '(guild_id, game_id, universe_id, place_id)';
const keyOf = ({ guildId, gameId }: LeasedTask, { universeId, placeId }: RestrictionScope) => [
  guildId,
  gameId,
  universeId,
  placeId ?? EVERYWHERE,
];

/** Stores a write before it is sent. */
export async function beginWrite(
  on: Queryable,
  task: LeasedTask,
  scope: RestrictionScope,
  { id, banId, durationSeconds, since }: PendingWrite,
): Promise<void> {
  await on.query(
    `INSERT INTO moderation.restrictions AS mirror ${KEY.slice(0, -1)},
       pending_id, pending_punishment_id, pending_seconds, pending_since, written_at, ends_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, clock_timestamp())
     ON CONFLICT ${KEY} DO UPDATE SET pending_id = excluded.pending_id,
       pending_punishment_id = excluded.pending_punishment_id, pending_seconds = excluded.pending_seconds,
       pending_since = excluded.pending_since, written_before_at = mirror.written_at, written_at = excluded.written_at,
       -- The row must stay as long as its writes count.
       ends_at = GREATEST(mirror.ends_at, excluded.ends_at)`,
    [...keyOf(task, scope), id, banId, durationSeconds, since],
  );
}

/** What a ban and a restriction are now that they are equal. */
export interface Agreement {
  banId: number | null;
  restriction: RestrictionInForce | undefined;
  /** The write that led to the agreement; null if the platform's own decision did. */
  writtenId: string | null;
  origin: 'guild' | 'platform';
}

/** Stores that the ban and the restriction are equal. With `mayHaveChanged` a reading that is due stays due. */
export async function storeAgreement(
  transaction: Queryable,
  task: LeasedTask,
  scope: RestrictionScope,
  { banId, restriction, writtenId, origin }: Agreement,
  mayHaveChanged: boolean,
): Promise<void> {
  const endsAt = restriction && (restriction.endsAt === Infinity ? 'infinity' : new Date(restriction.endsAt));
  await transaction.query(
    `INSERT INTO moderation.restrictions AS mirror ${KEY.slice(0, -1)}, punishment_id, started_at, ends_at, written_id, origin)
     VALUES ($1, $2, $3, $4, $5, $6, COALESCE($7::timestamptz, clock_timestamp()), $8, $9)
     ON CONFLICT ${KEY} DO UPDATE SET punishment_id = excluded.punishment_id, started_at = excluded.started_at,
       ends_at = excluded.ends_at, written_id = excluded.written_id, origin = excluded.origin, pending_id = NULL,
       pending_punishment_id = NULL, pending_seconds = NULL, pending_since = NULL, drifted_at = NULL,
       foreign_until = NULL, needs_read = mirror.needs_read AND $10`,
    [
      ...keyOf(task, scope),
      banId,
      restriction ? new Date(restriction.startedAt) : null,
      endsAt ?? null,
      writtenId,
      origin,
      mayHaveChanged,
    ],
  );
}

/**
 * Stores that the restriction was read, and needs no change for now. With `mayHaveChanged` the next reading is due
 * already.
 */
export async function storeRead(
  transaction: Queryable,
  task: LeasedTask,
  scope: RestrictionScope,
  mayHaveChanged: boolean,
): Promise<void> {
  await transaction.query(
    `UPDATE moderation.restrictions SET needs_read = $5
     WHERE guild_id = $1 AND game_id = $2 AND universe_id = $3 AND place_id = $4`,
    [...keyOf(task, scope), mayHaveChanged],
  );
}

/** How long the row of a place of another universe stays after its last attempt, so that it is not taken for a new one. */
const FOREIGN_DAYS = 7;

/** Stores that the place does not belong to the universe, so that it is not tried again for `seconds`. */
export async function storeForeignPlace(
  transaction: Queryable,
  task: LeasedTask,
  scope: RestrictionScope,
  seconds: number,
): Promise<void> {
  await transaction.query(
    `INSERT INTO moderation.restrictions AS mirror ${KEY.slice(0, -1)}, foreign_until, ends_at)
     VALUES ($1, $2, $3, $4, clock_timestamp() + $5::float8 * interval '1 second',
       clock_timestamp() + ${FOREIGN_DAYS} * interval '1 day')
     ON CONFLICT ${KEY} DO UPDATE SET foreign_until = excluded.foreign_until, needs_read = false, drifted_at = NULL,
       ends_at = GREATEST(mirror.ends_at, excluded.ends_at), started_at = NULL, punishment_id = NULL`,
    [...keyOf(task, scope), seconds],
  );
}

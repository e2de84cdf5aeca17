import type { Queryable } from '#kit/postgres/pool.ts';

/** How long counts by minute are stored: the last hour, and an hour for late reports. */
export const MINUTES_SECONDS = 2 * 3600;

/** The requests of a guild in one rate limit category. */
export interface RequestCounts {
  category: string;
  allowed: number;
  rejected: number;
}

/** The requests of a guild in one category that arrived in the minute that began at `minute`. */
export interface MinuteCounts extends RequestCounts {
  guildId: string;
  minute: Date;
}

export interface DayCounts extends RequestCounts {
  day: Date;
}

/** A report of one gateway; see ReportRequestsRequest in proto/guild/auth/v1/auth.proto. */
export interface RequestReport {
  reporter: string;
  sequence: number;
  counts: readonly MinuteCounts[];
}

/**
 * Adds a report to the counts, in one statement. Returns false and changes nothing if this report or a later one of the
 * reporter was added before. Counts of a guild without keys are dropped, because the guild has been erased. A minute later than
 * `now`, by the clock of a gateway, counts as the current one. All reports lock their rows in the same order.
 */
export async function addReport(
  database: Queryable,
  { reporter, sequence, counts }: RequestReport,
  now: Date,
): Promise<boolean> {
  const [row] = await database.query<{ isNew: boolean }>(
    `WITH accepted AS (
       INSERT INTO auth.request_reporters AS known (reporter, sequence, reported_at) VALUES ($1, $2, $3)
       ON CONFLICT (reporter) DO UPDATE SET sequence = excluded.sequence, reported_at = excluded.reported_at
         WHERE known.sequence < excluded.sequence
       RETURNING 1),
     counted AS (
       SELECT guild_id, category, least(minute, date_trunc('minute', $3::timestamptz)) AS minute,
         sum(allowed)::bigint AS allowed, sum(rejected)::bigint AS rejected
       FROM unnest($4::text[], $5::text[], $6::timestamptz[], $7::bigint[], $8::bigint[])
         AS given (guild_id, category, minute, allowed, rejected)
       CROSS JOIN LATERAL (SELECT FROM auth.keys WHERE keys.guild_id = given.guild_id LIMIT 1) AS known
       WHERE EXISTS (SELECT FROM accepted)
       GROUP BY 1, 2, 3),
     minutes AS (
       INSERT INTO auth.request_minutes AS stored (guild_id, category, minute, allowed, rejected)
       SELECT * FROM counted WHERE minute > $3::timestamptz - interval '${MINUTES_SECONDS} seconds'
       ORDER BY guild_id COLLATE "C", minute, category COLLATE "C"
       ON CONFLICT (guild_id, minute, category) DO UPDATE
         SET allowed = stored.allowed + excluded.allowed, rejected = stored.rejected + excluded.rejected),
     days AS (
       INSERT INTO auth.request_days AS stored (guild_id, category, day, allowed, rejected)
       SELECT guild_id, category, date_trunc('day', minute, 'UTC') AS day, sum(allowed), sum(rejected) FROM counted
       GROUP BY 1, 2, 3 ORDER BY guild_id COLLATE "C", day, category COLLATE "C"
       ON CONFLICT (guild_id, day, category) DO UPDATE
         SET allowed = stored.allowed + excluded.allowed, rejected = stored.rejected + excluded.rejected)
     SELECT EXISTS (SELECT FROM accepted) AS "isNew"`,
    [
      reporter,
      sequence,
      now,
      counts.map(({ guildId }) => guildId),
      counts.map(({ category }) => category),
      counts.map(({ minute }) => minute),
      counts.map(({ allowed }) => allowed),
      counts.map(({ rejected }) => rejected),
    ],
  );
  return row?.isNew ?? false;
}

/** Returns the requests of a guild by category in the minutes that began after `after`. */
export function sumMinutes(on: Queryable, guildId: string, after: Date): Promise<RequestCounts[]> {
  return on.query(
    `SELECT category, sum(allowed)::bigint AS allowed, sum(rejected)::bigint AS rejected FROM auth.request_minutes
     WHERE guild_id = $1 AND minute > $2 GROUP BY category`,
    [guildId, after],
  );
}

/** Returns the requests of a guild by day (UTC) and category in the last `days` days, the newest day first. */
export function listDays(on: Queryable, guildId: string, now: Date, days: number): Promise<DayCounts[]> {
  return on.query(
    `SELECT day, category, allowed, rejected FROM auth.request_days
     WHERE guild_id = $1 AND day > date_trunc('day', $2::timestamptz, 'UTC') - $3::int * interval '24 hours'
     ORDER BY day DESC, category LIMIT 10000`,
    [guildId, now, days],
  );
}

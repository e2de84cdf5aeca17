import { byGuild, guildOf, guildStatement, inDueGuilds } from '#kit/postgres/citus/by-guild.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { AuditEntry } from '../domain/audit-entry.ts';

/**
 * The maximum number of entries of a key, or of all persons together, that come to the audit of a guild on a day. Of
 * more changes only the number does, so that no key can fill the database, or hide what others have changed.
 */
export const MAX_PER_DAY = 2_000;
/** The maximum number of entries, of a guild and in all, that are read together. */
const MAX_OF_GUILD = 50;
const MAX_READ = 200;
const MAX_GUILDS = 20;
const MAX_READ_BYTES = 640 * 1024;
/** The bytes of an entry besides its two records. */
const ENTRY_BYTES = 1_000;
const MAX_DAYS = 100;

/** Stores entries in the order given. Rows of days are locked in the order of guild IDs. */
export async function insertAuditEntries(on: Queryable, entries: readonly AuditEntry[]): Promise<void> {
  const rows = entries.map(({ guildId, createdAtMs, source, before, after, ...entry }) => ({
    ...entry,
    guild_id: guildId,
    created_at: new Date(createdAtMs),
    actor: source.kind === 'console' ? source.kind : source.id,
    source,
    before: before === undefined ? null : JSON.parse(before),
    after: after === undefined ? null : JSON.parse(after),
  }));
  await on.query(INSERT, [JSON.stringify(rows)]);
}

const INSERT = `WITH given AS (
    SELECT * FROM ROWS FROM (
      jsonb_to_recordset($1::jsonb) AS (guild_id text, id uuid, action text, service text, created_at timestamptz,
        actor text, source jsonb, persons text[], before jsonb, after jsonb)
    ) WITH ORDINALITY AS entry (guild_id, id, action, service, created_at, actor, source, persons, before, after, position)
  ), counted AS (
    INSERT INTO events.audit_days AS days (guild_id, day, actor, entries)
    SELECT guild_id, (clock_timestamp() AT TIME ZONE 'UTC')::date, actor, count(*)
    FROM given GROUP BY guild_id, actor ORDER BY guild_id, actor
    ON CONFLICT (guild_id, day, actor) DO UPDATE SET entries = days.entries + excluded.entries
    RETURNING guild_id, actor, entries
  ), placed AS (
    SELECT given.*, entries - count(*) OVER (PARTITION BY guild_id, actor)
      + row_number() OVER (PARTITION BY guild_id, actor ORDER BY position) AS place
    FROM given JOIN counted USING (guild_id, actor)
  )
  INSERT INTO events.audit_entries (guild_id, id, action, service, created_at, source, persons, before, after)
  SELECT guild_id, id, action, service, created_at, source, persons, before, after
  FROM placed WHERE place <= ${MAX_PER_DAY} ORDER BY position
  ON CONFLICT (guild_id, id) DO NOTHING`;

/**
 * Returns the oldest entries of the guilds after `afterGuildId`, and marks them as taken for `takenMs`. The guilds are
 * found one by one in the index, so that a guild with many entries does not delay the others.
 */
export function takeAuditEntries(on: Queryable, afterGuildId: string, takenMs: number): Promise<AuditEntry[]> {
  const due = {
    table: 'events.audit_entries',
    condition: 'guild_id > $1',
    order: 'guild_id',
    values: [afterGuildId],
    limit: 1,
  };
  return inDueGuilds(on, due, (run) => run<AuditEntry>(TAKE, [afterGuildId, takenMs]));
}

const TAKE = guildStatement(
  2,
  (andGuild) => `WITH RECURSIVE guilds AS (
    (SELECT guild_id, 1 AS place FROM events.audit_entries WHERE guild_id > $1 ${andGuild('audit_entries')}
      ORDER BY guild_id LIMIT 1)
    UNION ALL
    SELECT next.guild_id, place + 1 FROM guilds, LATERAL (
      SELECT guild_id FROM events.audit_entries WHERE guild_id > guilds.guild_id ${andGuild('audit_entries')}
      ORDER BY guild_id LIMIT 1
    ) AS next WHERE place < ${MAX_GUILDS}
  ), oldest AS (
    SELECT entry.*, sum(${ENTRY_BYTES} + octet_length(coalesce(before::text, '')) + octet_length(coalesce(after::text, '')))
      OVER (ORDER BY entry.guild_id, number) AS bytes, row_number() OVER (ORDER BY entry.guild_id, number) AS place
    FROM guilds, LATERAL (
      SELECT guild_id, id, number, before, after FROM events.audit_entries
      WHERE guild_id = guilds.guild_id ${andGuild('audit_entries')} ORDER BY number LIMIT ${MAX_OF_GUILD}
    ) AS entry
  ), taken AS (
    UPDATE events.audit_entries AS entry SET taken_until = clock_timestamp() + $2 * interval '1 millisecond'
    FROM oldest
    WHERE entry.guild_id = oldest.guild_id AND entry.id = oldest.id ${andGuild('entry')}
      AND (place = 1 OR (bytes <= ${MAX_READ_BYTES} AND place <= ${MAX_READ}))
    RETURNING entry.*
  )
  SELECT guild_id AS "guildId", id, action, service, (extract(epoch FROM created_at) * 1000)::bigint AS "createdAtMs",
    source, persons, before::text AS before, after::text AS after
  FROM taken ORDER BY guild_id, number`,
);

const DELETE = guildStatement(
  2,
  (andGuild) => `DELETE FROM events.audit_entries
    WHERE (guild_id, id) IN (SELECT * FROM unnest($1::text[], $2::uuid[])) ${andGuild('audit_entries')}`,
);

/** Deletes entries by guild and ID. */
export async function deleteAuditEntries(
  on: Queryable,
  entries: readonly { guildId: string; id: string }[],
): Promise<void> {
  await byGuild(on, entries, guildOf, (part, run) => run(DELETE, [part.map(guildOf), part.map(({ id }) => id)]));
}

const IS_PAST = `day < ((SELECT clock_timestamp()) AT TIME ZONE 'UTC')::date`;

const CLOSE_DAYS = guildStatement(
  0,
  (andGuild) => `WITH due AS MATERIALIZED (
     SELECT guild_id, day, actor FROM events.audit_days WHERE ${IS_PAST} ${andGuild('audit_days')}
     ORDER BY day LIMIT ${MAX_DAYS} FOR UPDATE SKIP LOCKED
   ), past AS (
     DELETE FROM events.audit_days WHERE (guild_id, day, actor) IN (SELECT guild_id, day, actor FROM due) ${andGuild('audit_days')}
     RETURNING guild_id, day, actor, entries
   ), summarised AS (
     INSERT INTO events.audit_entries (guild_id, id, action, service, created_at, source, persons, after)
     SELECT guild_id, gen_random_uuid(), 'changes.not_recorded', 'events', clock_timestamp(),
       jsonb_build_object('kind', CASE actor WHEN 'console' THEN 'console' ELSE 'api_key' END, 'id', actor), '{}',
       jsonb_build_object('day', day, 'changes', entries - ${MAX_PER_DAY})
     FROM past WHERE entries > ${MAX_PER_DAY}
   )
   SELECT 1 FROM past`,
);

/**
 * Deletes the counts of past days, and stores an entry with the number of the changes above the limit. Returns the number
 * of the counts.
 */
export async function closeAuditDays(on: Queryable): Promise<number> {
  const due = { table: 'events.audit_days', condition: IS_PAST, order: 'day', values: [], limit: MAX_DAYS };
  const closed = await inDueGuilds(on, due, (run) => run(CLOSE_DAYS, []));
  return closed.length;
}

/** Returns the number of entries that wait (but at most 10,000), and the age of the oldest in seconds. */
export async function readAuditBacklog(on: Queryable): Promise<{ entries: number; oldestSeconds: number }> {
  const [backlog] = await on.query<{ entries: number; oldestSeconds: number }>(
    `SELECT (SELECT count(*)::int FROM (SELECT 1 FROM events.audit_entries LIMIT 10000) AS counted) AS entries,
       greatest(0, coalesce(extract(epoch FROM clock_timestamp() - (
         SELECT queued_at FROM events.audit_entries ORDER BY queued_at LIMIT 1)), 0))::float8 AS "oldestSeconds"`,
  );
  return backlog ?? { entries: 0, oldestSeconds: 0 };
}

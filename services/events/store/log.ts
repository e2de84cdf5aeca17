import { type EventSource, publicSource } from '#kit/events/source.ts';
import { prepared, type Queryable } from '#kit/postgres/pool.ts';
import { isAuditOnly } from '#proto/rest/events/audit.ts';
import type { LogEvent, OwnEvent, RecordedEvent } from '../domain/log-event.ts';

/** The maximum number of events that one statement examines for readers of few types. */
const MAX_EXAMINED = 1_000;

const COLUMNS = 'guild_id AS "guildId", id, seq, type, created_at AS "createdAt", source, data';

/** What was stored of a guild's events. */
export interface Appended {
  guildId: string;
  /** The highest number of the service's events that were stored before. */
  previousNumber: number;
  /** The seq of the guild's newest event; null if no event was stored in the log now. */
  lastSeq: number | null;
}

/**
 * Stores the events of a service that were not stored before, and assigns their seqs. Those that are for the audit only
 * are left out, but their numbers count. The rows of the service and then the counters stay locked until the end of the
 * transaction. Fails with an error of `isMissingPartition` if the day has no partition.
 */
export function appendRecorded(on: Queryable, service: string, events: readonly RecordedEvent[]): Promise<Appended[]> {
  return on.query<Appended>(APPEND_RECORDED, [JSON.stringify(events.map(rowOf)), service]);
}

/** Stores events of a guild that this service itself records, and assigns their seqs. */
export function appendOwnEvents(
  on: Queryable,
  guildId: string,
  events: readonly OwnEvent[],
): Promise<{ lastSeq: number }[]> {
  const rows = events.map((event, number) => rowOf({ ...event, guildId, number }));
  return on.query(APPEND_OWN, [JSON.stringify(rows)]);
}

/**
 * Locks the log of a guild until the transaction ends: no event is stored meanwhile, and no other transaction with this
 * lock runs. Must come before the locks of endpoints, in the order in which events are stored. Returns the newest seq.
 */
export async function lockLog(transaction: Queryable, guildId: string): Promise<number> {
  const [counter] = await transaction.query<{ lastSeq: number }>(
    `INSERT INTO events.counters AS counter (guild_id, last_seq, day)
     VALUES ($1, 0, (clock_timestamp() AT TIME ZONE 'UTC')::date)
     ON CONFLICT (guild_id) DO UPDATE SET last_seq = counter.last_seq RETURNING last_seq AS "lastSeq"`,
    [guildId],
  );
  return counter?.lastSeq ?? 0;
}

const rowOf = ({ guildId, createdAtMs, source, persons, before: _before, ...event }: RecordedEvent) => ({
  ...event,
  guild_id: guildId,
  created_at: new Date(createdAtMs),
  source: publicSource(source),
  persons: [...persons, ...actorMark(source)],
  audit_only: isAuditOnly(event.type),
});

/** The mark with which an erasure finds the events that a person has caused; their data stays. */
const actorMark = ({ kind, id }: EventSource) => (kind === 'console' ? [`actor:${id}`] : []);

const GIVEN = `SELECT * FROM jsonb_to_recordset($1::jsonb) AS event (guild_id text, number bigint, id uuid, type text,
  created_at timestamptz, source json, persons text[], data text, audit_only boolean)`;

/**
 * Stores the rows of `fresh`. Counters are locked in the order of guild IDs, so that transactions with events of several
 * guilds do not deadlock.
 */
const INSERT = `counted AS (
    INSERT INTO events.counters AS counter (guild_id, last_seq, day)
    SELECT guild_id, count(*), (clock_timestamp() AT TIME ZONE 'UTC')::date FROM fresh GROUP BY guild_id ORDER BY guild_id
    ON CONFLICT (guild_id) DO UPDATE
      SET last_seq = counter.last_seq + excluded.last_seq, day = GREATEST(counter.day, excluded.day)
    RETURNING guild_id, last_seq, day
  ), placed AS (
    SELECT guild_id, day, id, type, created_at, source, persons, data::json AS data, octet_length(data) AS size,
      last_seq - count(*) OVER (PARTITION BY guild_id) + row_number() OVER (PARTITION BY guild_id ORDER BY number) AS seq
    FROM fresh JOIN counted USING (guild_id)
  ), dated AS (
    INSERT INTO events.days (guild_id, day, first_seq) SELECT guild_id, day, min(seq) FROM placed GROUP BY guild_id, day
    ON CONFLICT (guild_id, day) DO NOTHING
  ), stored AS (
    INSERT INTO events.log (guild_id, day, seq, id, type, created_at, source, persons, data, size)
    SELECT guild_id, day, seq, id, type, created_at, source, persons, data, size FROM placed
    RETURNING guild_id, seq
  )`;

const APPEND_RECORDED = prepared(`WITH given AS (
    ${GIVEN}
  ), source AS (
    INSERT INTO events.sources AS source (guild_id, service, last_number)
    SELECT guild_id, $2, max(number) FROM given GROUP BY guild_id ORDER BY guild_id
    ON CONFLICT (guild_id, service) DO UPDATE
      SET previous_number = source.last_number, last_number = GREATEST(source.last_number, excluded.last_number)
    RETURNING guild_id, previous_number
  ), fresh AS (
    SELECT given.* FROM given JOIN source USING (guild_id) WHERE number > previous_number AND NOT audit_only
  ), ${INSERT}
  SELECT guild_id AS "guildId", previous_number AS "previousNumber", max(seq) AS "lastSeq"
  FROM source LEFT JOIN stored USING (guild_id) GROUP BY guild_id, previous_number`);

const APPEND_OWN = prepared(`WITH fresh AS (
    ${GIVEN}
  ), ${INSERT}
  SELECT max(seq) AS "lastSeq" FROM stored HAVING count(*) > 0`);

export interface ReadRequest {
  guildId: string;
  /** The seq after which reading starts; null starts at the oldest event. */
  after: number | null;
  /** The types of the events to return. */
  types: readonly string[];
  /** The maximum number of events. */
  limit: number;
  /** The maximum size of the events' data in bytes; a single event may be larger. */
  maxBytes: number;
}

export interface ReadEvents {
  events: LogEvent[];
  /** The newest seq that was examined: the next read continues after it. */
  examinedSeq: number;
  /** The seq of the oldest event that is retained; the newest seq plus 1 if none is. */
  oldestSeq: number;
  newestSeq: number;
}

/**
 * Returns the next events of a guild after a seq, in their order. A read examines at most 1,000 events, so that it may
 * return none although newer ones exist: then `examinedSeq` is below `newestSeq`.
 */
export async function readEvents(
  on: Queryable,
  { guildId, after, types, limit, maxBytes }: ReadRequest,
): Promise<ReadEvents> {
  const rows = await on.query<ReadRow>(READ, [guildId, after, types, limit, maxBytes]);
  const [bounds] = rows;
  if (!bounds) throw new Error('the read of the log returned no row');
  const { newest: newestSeq, oldest: oldestSeq } = bounds;
  const found = rows.filter(({ id }) => id !== null);
  const last = found.at(-1);
  const isCut = last !== undefined && (found.length === limit || last.bytes >= maxBytes);
  const windowEnd = Math.max(bounds.after, Math.min(bounds.after + MAX_EXAMINED, newestSeq));
  return { events: found.map(eventOf), examinedSeq: isCut ? last.seq : windowEnd, oldestSeq, newestSeq };
}

type ReadRow = LogEvent & { newest: number; oldest: number; after: number; bytes: number };

const eventOf = ({ guildId, id, seq, type, createdAt, source, data }: LogEvent): LogEvent => ({
  guildId,
  id,
  seq,
  type,
  createdAt,
  source,
  data,
});

/** Returns the events of a guild with these IDs, ordered by seq; events that are not retained are missing. */
export function readEventsById(on: Queryable, guildId: string, ids: readonly string[]): Promise<LogEvent[]> {
  return on.query<LogEvent>(
    `SELECT ${COLUMNS} FROM events.log WHERE guild_id = $1 AND id = ANY($2::uuid[]) ORDER BY seq`,
    [guildId, ids],
  );
}

/** Returns the newest seq of each of these guilds that has one. */
export function readNewestSeqs(
  on: Queryable,
  guildIds: readonly string[],
): Promise<{ guildId: string; newestSeq: number }[]> {
  return on.query(NEWEST, [guildIds]);
}

const NEWEST = prepared(
  'SELECT guild_id AS "guildId", last_seq AS "newestSeq" FROM events.counters WHERE guild_id = ANY($1::text[])',
);

/** The bytes of an event besides its data, in a response or a stream. */
export const EVENT_BYTES = 400;

/**
 * The days lead to the partitions that can have the next events. Each day is read on its own: with a range of days,
 * PostgreSQL before version 18 does not end an index scan at the last seq, but at the guild's newest event. A guild's seqs
 * have no gaps, so the examined events are known without counting them. A row is compared, so that the days are read by the
 * primary key and never by the index of the days of all guilds.
 */
const READ = prepared(`WITH bounds AS (
    SELECT coalesce(last_seq, 0) AS newest, coalesce(first_seq, last_seq + 1, 1) AS oldest,
      coalesce($2::bigint, first_seq - 1, last_seq, 0) AS after
    FROM (SELECT) AS one
      LEFT JOIN events.counters ON counters.guild_id = $1
      LEFT JOIN LATERAL (
        SELECT first_seq FROM events.days WHERE days.guild_id = $1 ORDER BY day LIMIT 1
      ) AS first ON true
  ), examined AS (
    SELECT event.* FROM (
      SELECT day FROM events.days WHERE days.guild_id = $1 AND first_seq <= (SELECT after + ${MAX_EXAMINED} FROM bounds)
        AND (days.guild_id, day) >= ($1, (
          SELECT day FROM events.days
          WHERE days.guild_id = $1 AND first_seq <= (SELECT after + 1 FROM bounds) ORDER BY day DESC LIMIT 1))
    ) AS dated CROSS JOIN LATERAL (
      SELECT guild_id, day, seq, id, type, created_at, source, data, size FROM events.log
      WHERE guild_id = $1 AND day = dated.day AND type = ANY($3::text[])
        AND seq > (SELECT after FROM bounds) AND seq <= (SELECT after + ${MAX_EXAMINED} FROM bounds)
      ORDER BY seq LIMIT $4
    ) AS event
    ORDER BY dated.day, event.seq LIMIT $4
  ), page AS (
    SELECT *, sum(size + ${EVENT_BYTES}) OVER (ORDER BY day, seq) AS bytes FROM examined
  )
  SELECT ${COLUMNS}, newest, oldest, after, bytes
  FROM bounds LEFT JOIN page ON bytes - size - ${EVENT_BYTES} < $5
  ORDER BY seq`);

import { randomUUID } from 'node:crypto';
import { byGuild, guildOf, guildStatement } from '#kit/postgres/citus/by-guild.ts';
import { type Prepared, prepared, type Queryable } from '#kit/postgres/pool.ts';
import { type Attempt, type Endpoint, type EndpointSecrets, MAX_PARKED } from '../domain/endpoint.ts';
import { DELIVERIES_PER_DELETION, deleteOldDeliveries } from './deliveries.ts';

/**
 * Seconds for which a process may send the events of an endpoint without storing an attempt: longer than an attempt
 * takes. After that another process may send them.
 */
const LEASE_SECONDS = 30;
const LEASE = `clock_timestamp() + interval '${LEASE_SECONDS} seconds'`;
const NO_LEASE = '(leased_until IS NULL OR leased_until <= clock_timestamp())';
// The text must be that of the index `endpoints_due`.
const DUE = `enabled AND cursor_seq < wanted_seq AND parked < ${MAX_PARKED}`;

const NEEDED = `e.guild_id AS "guildId", e.id, e.scopes, e.url, e.types, e.format, e.cursor_seq AS "cursorSeq", e.secret,
  CASE WHEN e.previous_until > clock_timestamp() THEN e.previous_secret END AS "previousSecret"`;

/** What a process needs to send events to an endpoint. */
export type Recipient = Pick<Endpoint, 'guildId' | 'id' | 'scopes' | 'url' | 'types' | 'format' | 'cursorSeq'> &
  EndpointSecrets;

/** An endpoint that this process has leased. */
export type LeasedEndpoint = Recipient & { lease: string };

/** A guild, and the number of its endpoints that may be claimed. */
export interface GuildSlots {
  guildId: string;
  slots: number;
}

const CLAIM = guildStatement(
  4,
  (andGuild) => `WITH picked AS (
    SELECT found.guild_id, found.id
    FROM unnest($1::text[], $2::int[]) AS wanted (guild_id, slots) CROSS JOIN LATERAL (
      SELECT guild_id, id FROM events.endpoints
      WHERE guild_id = wanted.guild_id ${andGuild('endpoints')} AND ${DUE} AND is_slow = $3 AND ${NO_LEASE}
      ORDER BY turn_at LIMIT wanted.slots FOR UPDATE SKIP LOCKED
    ) AS found
  ), e AS (
    UPDATE events.endpoints AS claimed
    SET lease = $4::uuid, leased_until = ${LEASE}, turn_at = clock_timestamp()
    FROM picked
    WHERE claimed.guild_id = picked.guild_id AND claimed.id = picked.id ${andGuild('claimed')}
    RETURNING claimed.*
  )
  SELECT ${NEEDED}, e.lease FROM e`,
  prepared,
);

/** Leases due endpoints of some guilds, those first that had no turn for the longest time. */
export function claimDue(on: Queryable, guilds: readonly GuildSlots[], isSlow: boolean): Promise<LeasedEndpoint[]> {
  return byGuild(on, guilds, guildOf, (part, run) =>
    run(CLAIM, [part.map(guildOf), part.map(({ slots }) => slots), isSlow, randomUUID()]),
  );
}

/**
 * Returns up to `limit` guilds with due endpoints that no process has leased, in the order of their IDs, after a guild.
 * Guilds in `except` are left out.
 */
export async function findDueGuilds(
  on: Queryable,
  { isSlow, after, except, limit }: { isSlow: boolean; after: string; except: readonly string[]; limit: number },
): Promise<string[]> {
  const rows = await on.query<{ guildId: string }>(
    `SELECT DISTINCT guild_id AS "guildId" FROM events.endpoints
     WHERE ${DUE} AND is_slow = $1 AND guild_id > $2 AND guild_id <> ALL ($3::text[]) AND ${NO_LEASE}
     ORDER BY guild_id LIMIT $4`,
    [isSlow, after, except, limit],
  );
  return rows.map(({ guildId }) => guildId);
}

/** The result of an attempt for the stored endpoint; undefined if there was none. */
export interface Outcome {
  attempt: Attempt;
  isSuccess: boolean;
  isSlow: boolean;
  /** Seconds until the next attempt; null after a success or the last attempt. */
  retrySeconds: number | null;
}

export interface Settlement {
  endpoint: LeasedEndpoint;
  /** The seq up to which events were sent, parked or left out. */
  cursorSeq: number;
  outcome: Outcome | undefined;
  /** True if this is the end of the turn. */
  isReleased: boolean;
}

/** The attempt as a row of deliveries; $1 and $2 are the endpoint, the others begin at `first`. */
const recordAttempt = (first: number) => {
  const [eventId, seq, attempt, status, latency, error, answer, retry] = Array.from(
    { length: 8 },
    (_, index) => `$${first + index}`,
  );
  return `INSERT INTO events.deliveries
      (guild_id, endpoint_id, day, at, event_id, seq, attempt, status, latency_ms, error, answer, next_attempt_at)
    SELECT guild_id, id, (now AT TIME ZONE 'UTC')::date, now, ${eventId}::uuid, ${seq}::bigint, ${attempt}::int,
      ${status}::smallint, ${latency}::int, ${error}::text, ${answer}::text,
      now + ${retry}::float8 * interval '1 second'
    FROM events.endpoints CROSS JOIN (SELECT clock_timestamp() AS now) AS clock
    WHERE guild_id = $1 AND id = $2::uuid AND ${eventId}::uuid IS NOT NULL`;
};

const attemptValues = (outcome: Outcome | undefined) => {
  const { eventId, seq, attempt, status, latencyMs, error, answer } = outcome?.attempt ?? {};
  return [eventId, seq, attempt, status, latencyMs, error, answer, outcome?.retrySeconds];
};

/** SQL assignments for an endpoint after an attempt. $3: it succeeded; $4: it was slow. The statement needs a table `clock` with the time. */
const AFTER_ATTEMPT = `failing_since = CASE WHEN $3::boolean THEN NULL
      WHEN NOT $3::boolean THEN COALESCE(failing_since, clock.now) ELSE failing_since END,
    is_slow = COALESCE($4::boolean, is_slow),
    attempt_count = attempt_count + CASE WHEN $3::boolean IS NULL THEN 0 ELSE 1 END`;

/** An SQL expression for the endpoint after an attempt: true if its old attempts have to be deleted now. */
const HAS_OLD_DELIVERIES = `$3::boolean IS NOT NULL AND attempt_count % ${DELIVERIES_PER_DELETION} = 0`;

/** The endpoint after an attempt. */
interface Settled {
  isDue: boolean;
  hasOldDeliveries: boolean;
}

/** Runs a statement that stores an attempt, and deletes old attempts if it is time. Returns undefined if it found no endpoint. */
async function settle(
  on: Queryable,
  endpoint: Pick<Endpoint, 'guildId' | 'id'>,
  statement: Prepared,
  values: readonly unknown[],
): Promise<{ isDue: boolean } | undefined> {
  const [settled] = await on.query<Settled>(statement, [endpoint.guildId, endpoint.id, ...values]);
  // The attempt is stored, so a failure must not fail its turn; the next deletion deletes more.
  if (settled?.hasOldDeliveries) await deleteOldDeliveries(on, endpoint).catch(() => undefined);
  return settled;
}

const SETTLE = prepared(`WITH settled AS (
    UPDATE events.endpoints SET ${AFTER_ATTEMPT}, cursor_seq = GREATEST(cursor_seq, $6::bigint),
      parked = parked + CASE WHEN NOT $3::boolean AND NOT EXISTS (
        SELECT FROM events.parked WHERE guild_id = $1 AND endpoint_id = $2::uuid AND seq = $9::bigint
      ) THEN 1 ELSE 0 END,
      retry_at = CASE WHEN NOT $3::boolean
        THEN LEAST(retry_at, clock.retry) ELSE retry_at END,
      lease = CASE WHEN $7::boolean THEN NULL ELSE endpoints.lease END,
      leased_until = CASE WHEN $7::boolean THEN NULL ELSE clock.lease END
    FROM (SELECT clock_timestamp() AS now, ${LEASE} AS lease,
      clock_timestamp() + $15::float8 * interval '1 second' AS retry) AS clock
    WHERE guild_id = $1 AND id = $2::uuid AND endpoints.lease = $5::uuid
    RETURNING guild_id, id, ${DUE} AS "isDue", ${HAS_OLD_DELIVERIES} AS "hasOldDeliveries"
  ), parked AS (
    INSERT INTO events.parked (guild_id, endpoint_id, seq, event_id, attempts, next_attempt_at)
    SELECT guild_id, id, $9::bigint, $8::uuid, 1, clock_timestamp() + $15::float8 * interval '1 second'
    FROM settled WHERE NOT $3::boolean
    ON CONFLICT (guild_id, endpoint_id, seq)
      DO UPDATE SET attempts = excluded.attempts, next_attempt_at = excluded.next_attempt_at
  ), recorded AS (
    ${recordAttempt(8)}
  )
  SELECT "isDue", "hasOldDeliveries" FROM settled`);

/**
 * Stores an attempt and the new cursor of an endpoint; an event that was not accepted is parked. Renews the lease, or
 * ends it. Returns undefined if this process has lost the lease, otherwise if the endpoint is due.
 */
export async function settleTurn(
  on: Queryable,
  { endpoint, cursorSeq, outcome, isReleased }: Settlement,
): Promise<{ isDue: boolean } | undefined> {
  const { isSuccess, isSlow } = outcome ?? {};
  const values = [isSuccess, isSlow, endpoint.lease, cursorSeq, isReleased, ...attemptValues(outcome)];
  return settle(on, endpoint, SETTLE, values);
}

/** Ends the turn of an endpoint without a result: for some seconds no process sends its events. */
export async function postponeTurn(
  on: Queryable,
  { guildId, id, lease }: Pick<LeasedEndpoint, 'guildId' | 'id' | 'lease'>,
  seconds: number,
): Promise<void> {
  await on.query(
    `UPDATE events.endpoints SET lease = NULL, leased_until = clock_timestamp() + $4::float8 * interval '1 second'
     WHERE guild_id = $1 AND id = $2::uuid AND lease = $3::uuid`,
    [guildId, id, lease, seconds],
  );
}

/** Stores an attempt without a change of the endpoint. */
export async function recordOnly(
  on: Queryable,
  { guildId, id }: Pick<Endpoint, 'guildId' | 'id'>,
  outcome: Outcome,
): Promise<void> {
  await on.query(recordAttempt(3), [guildId, id, ...attemptValues(outcome)]);
}

export { AFTER_ATTEMPT, attemptValues, DUE, HAS_OLD_DELIVERIES, LEASE, NEEDED, recordAttempt, settle };

import { byGuild, guildOf, guildStatement } from '#kit/postgres/citus/by-guild.ts';
import { prepared, type Queryable } from '#kit/postgres/pool.ts';
import type { Endpoint } from '../domain/endpoint.ts';
import {
  AFTER_ATTEMPT,
  attemptValues,
  DUE,
  type GuildSlots,
  HAS_OLD_DELIVERIES,
  LEASE,
  NEEDED,
  type Outcome,
  type Recipient,
  recordAttempt,
  settle,
} from './turns.ts';

/** A parked event that this process may send now. */
export type Retry = Recipient & {
  seq: number;
  eventId: string;
  /** The number of attempts before this one. */
  attempts: number;
};

type EndpointKey = Pick<Endpoint, 'guildId' | 'id'>;

/** Returns up to `limit` guilds with parked events that are due, the longest due first. Guilds in `except` are left out. */
export async function findRetryGuilds(on: Queryable, except: readonly string[], limit: number): Promise<string[]> {
  const rows = await on.query<{ guildId: string }>(
    `SELECT guild_id AS "guildId" FROM events.endpoints
     WHERE enabled AND retry_at <= clock_timestamp() AND guild_id <> ALL ($1::text[]) ORDER BY retry_at LIMIT $2`,
    [except, limit],
  );
  return [...new Set(rows.map(({ guildId }) => guildId))];
}

const CLAIM = guildStatement(
  2,
  (andGuild) => `WITH picked AS (
    SELECT found.guild_id, found.id
    FROM unnest($1::text[], $2::int[]) AS wanted (guild_id, slots) CROSS JOIN LATERAL (
      SELECT guild_id, id FROM events.endpoints
      WHERE guild_id = wanted.guild_id ${andGuild('endpoints')} AND enabled AND retry_at <= clock_timestamp()
      ORDER BY retry_at LIMIT wanted.slots FOR UPDATE SKIP LOCKED
    ) AS found
  )
  UPDATE events.endpoints AS e SET retry_at = ${LEASE}
  FROM picked WHERE e.guild_id = picked.guild_id AND e.id = picked.id ${andGuild('e')}
  RETURNING e.guild_id AS "guildId", e.id`,
  prepared,
);

/** Claims endpoints of some guilds whose parked events are due, until the end of a lease. */
export function claimRetries(on: Queryable, guilds: readonly GuildSlots[]): Promise<EndpointKey[]> {
  return byGuild(on, guilds, guildOf, (part, run) =>
    run(CLAIM, [part.map((guild) => guild.guildId), part.map(({ slots }) => slots)]),
  );
}

/**
 * Locks the endpoint before its parked events, as everywhere, so that no two transactions wait for each other. Every part
 * of a statement must depend on it, because it finds nothing after the statement has changed the endpoint.
 */
const LOCKED = `locked AS MATERIALIZED (
    SELECT enabled FROM events.endpoints WHERE guild_id = $1 AND id = $2::uuid FOR UPDATE
  )`;

const TAKE = prepared(`WITH ${LOCKED}, taken AS (
    UPDATE events.parked SET next_attempt_at = ${LEASE}
    WHERE guild_id = $1 AND endpoint_id = $2::uuid AND (SELECT enabled FROM locked) AND seq = (
      SELECT seq FROM events.parked
      WHERE guild_id = $1 AND endpoint_id = $2::uuid AND next_attempt_at <= clock_timestamp()
        AND (SELECT enabled FROM locked)
      ORDER BY seq LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING seq, event_id, attempts
  ), e AS (
    UPDATE events.endpoints AS changed SET retry_at = ${LEASE} FROM taken
    WHERE changed.guild_id = $1 AND changed.id = $2::uuid
    RETURNING changed.*, taken.seq, taken.event_id, taken.attempts
  )
  SELECT ${NEEDED}, e.seq, e.event_id AS "eventId", e.attempts FROM e`);

/** Takes the oldest parked event of an endpoint that is due, and renews the claim; undefined if none is due. */
export async function takeRetry(on: Queryable, { guildId, id }: EndpointKey): Promise<Retry | undefined> {
  const [taken] = await on.query<Retry>(TAKE, [guildId, id]);
  return taken;
}

const SETTLE = prepared(`WITH ${LOCKED}, removed AS (
    DELETE FROM events.parked WHERE EXISTS (SELECT FROM locked) AND guild_id = $1 AND endpoint_id = $2::uuid
      AND seq = $7::bigint AND attempts = $5::int AND $13::float8 IS NULL RETURNING 1
  ), parked AS (
    UPDATE events.parked
    SET attempts = attempts + 1, next_attempt_at = clock_timestamp() + $13::float8 * interval '1 second'
    WHERE EXISTS (SELECT FROM locked) AND guild_id = $1 AND endpoint_id = $2::uuid AND seq = $7::bigint
      AND attempts = $5::int AND $13::float8 IS NOT NULL
  ), recorded AS (
    ${recordAttempt(6)}
  )
  UPDATE events.endpoints SET ${AFTER_ATTEMPT}, parked = parked - (SELECT count(*) FROM removed)::int
  FROM (SELECT clock_timestamp() AS now) AS clock
  WHERE EXISTS (SELECT FROM locked) AND guild_id = $1 AND id = $2::uuid
  RETURNING ${DUE} AS "isDue", ${HAS_OLD_DELIVERIES} AS "hasOldDeliveries"`);

/**
 * Stores the attempt of a parked event, which is removed after a success or the last attempt. Returns true if the
 * endpoint is due for further events.
 */
export async function settleRetry(
  on: Queryable,
  retry: Pick<Retry, 'guildId' | 'id' | 'attempts'>,
  outcome: Outcome,
): Promise<boolean> {
  const { isSuccess, isSlow } = outcome;
  const values = [isSuccess, isSlow, retry.attempts, ...attemptValues(outcome)];
  return (await settle(on, retry, SETTLE, values))?.isDue ?? false;
}

/** Removes a parked event that can no longer be sent. Returns true if the endpoint is due for further events. */
export async function dropParked(
  on: Queryable,
  { guildId, id, seq }: Pick<Retry, 'guildId' | 'id' | 'seq'>,
): Promise<boolean> {
  const [endpoint] = await on.query<{ isDue: boolean }>(
    `WITH ${LOCKED}, removed AS (
       DELETE FROM events.parked WHERE EXISTS (SELECT FROM locked) AND guild_id = $1 AND endpoint_id = $2::uuid
         AND seq = $3::bigint RETURNING 1
     )
     UPDATE events.endpoints SET parked = parked - (SELECT count(*) FROM removed)::int
     WHERE EXISTS (SELECT FROM locked) AND guild_id = $1 AND id = $2::uuid RETURNING ${DUE} AS "isDue"`,
    [guildId, id, seq],
  );
  return endpoint?.isDue ?? false;
}

/**
 * Ends the claim on the parked events of an endpoint: it is claimed again when the next one is due, after the endpoints that are
 * waiting already. Otherwise one that cannot keep up would always be the longest due.
 */
export async function releaseRetries(transaction: Queryable, { guildId, id }: EndpointKey): Promise<void> {
  // A separate statement reads the parked events, so that it sees those that were committed before the lock was free.
  await transaction.query('SELECT FROM events.endpoints WHERE guild_id = $1 AND id = $2::uuid FOR UPDATE', [
    guildId,
    id,
  ]);
  await transaction.query(
    `UPDATE events.endpoints SET retry_at = (
       SELECT greatest(next_attempt_at, clock_timestamp()) FROM events.parked
       WHERE guild_id = $1 AND endpoint_id = $2::uuid ORDER BY next_attempt_at LIMIT 1)
     WHERE guild_id = $1 AND id = $2::uuid`,
    [guildId, id],
  );
}

/** Parks events to be sent immediately, once more or again. The caller must have locked the endpoint. */
export async function parkNow(
  transaction: Queryable,
  { guildId, id }: EndpointKey,
  events: readonly { id: string; seq: number }[],
): Promise<void> {
  await transaction.query(
    `WITH added AS (
       INSERT INTO events.parked (guild_id, endpoint_id, seq, event_id, attempts, next_attempt_at)
       SELECT $1, $2::uuid, event.seq, event.id, 0, clock_timestamp()
       FROM unnest($3::bigint[], $4::uuid[]) AS event (seq, id)
       ON CONFLICT (guild_id, endpoint_id, seq) DO NOTHING RETURNING 1
     ), repeated AS (
       UPDATE events.parked SET attempts = 0, next_attempt_at = clock_timestamp()
       WHERE guild_id = $1 AND endpoint_id = $2::uuid AND seq = ANY ($3::bigint[])
     )
     UPDATE events.endpoints SET parked = parked + (SELECT count(*) FROM added)::int, retry_at = clock_timestamp()
     WHERE guild_id = $1 AND id = $2::uuid`,
    [guildId, id, events.map(({ seq }) => seq), events.map((event) => event.id)],
  );
}

/** Returns the endpoints that have been failing for `seconds` without a success. */
export function findFailing(on: Queryable, seconds: number, limit: number): Promise<EndpointKey[]> {
  return on.query(
    `SELECT guild_id AS "guildId", id FROM events.endpoints
     WHERE enabled AND failing_since <= clock_timestamp() - $1::float8 * interval '1 second'
     ORDER BY failing_since LIMIT $2`,
    [seconds, limit],
  );
}

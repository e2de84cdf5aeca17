import type { Queryable } from '#kit/postgres/pool.ts';
import type { Delivery, Endpoint } from '../domain/endpoint.ts';

/** The position of a page: the last row of the page before it. */
export interface DeliveryPosition {
  /** Unix microseconds. */
  atMicros: number;
  id: string;
}

/** How long, in days, attempts are listed; their partitions are dropped after that. */
export const DELIVERY_DAYS = 7;

/**
 * The number of an endpoint's newest attempts that are retained for these days. Older ones are deleted, because a guild can make
 * any number of them by sending its events again.
 */
export const MAX_DELIVERIES = 10_000;
/** The number of attempts of an endpoint after which older ones are deleted. */
export const DELIVERIES_PER_DELETION = 1_000;
/** More than are stored between two deletions, so that the number goes down after a deletion has failed. */
const MAX_DELETED = 2 * DELIVERIES_PER_DELETION;

/** Returns the attempts of an endpoint in the last seven days, the newest first, after the position. */
export function listDeliveries(
  on: Queryable,
  guildId: string,
  endpointId: string,
  { after, limit }: { after: DeliveryPosition | undefined; limit: number },
): Promise<Delivery[]> {
  return on.query(
    `SELECT id, event_id AS "eventId", seq, attempt, at, (extract(epoch FROM at) * 1000000)::bigint AS "atMicros",
       status, latency_ms AS "latencyMs", error, answer, next_attempt_at AS "nextAttemptAt"
     FROM events.deliveries
     WHERE guild_id = $1 AND endpoint_id = $2::uuid
       AND day >= ((clock_timestamp() - interval '${DELIVERY_DAYS} days') AT TIME ZONE 'UTC')::date
       AND at >= clock_timestamp() - interval '${DELIVERY_DAYS} days'
       AND ($3::bigint IS NULL
         OR (at, id) < (to_timestamp(0) + $3::bigint * interval '1 microsecond', $4::uuid))
     ORDER BY day DESC, at DESC, id DESC LIMIT $5`,
    [guildId, endpointId, after?.atMicros ?? null, after?.id ?? null, limit],
  );
}

type EndpointKey = Pick<Endpoint, 'guildId' | 'id'>;

/** Deletes up to 2,000 attempts of an endpoint that are older than its newest 10,000. */
export function deleteOldDeliveries(on: Queryable, endpoint: EndpointKey): Promise<void> {
  return deleteDeliveries(on, endpoint, { kept: MAX_DELIVERIES, limit: MAX_DELETED });
}

/** Deletes the attempts of an endpoint that is deleted too. If there are too many for a request, the oldest ones expire. */
export function deleteAllDeliveries(on: Queryable, endpoint: EndpointKey): Promise<void> {
  return deleteDeliveries(on, endpoint, { kept: 0, limit: MAX_DELIVERIES + MAX_DELETED });
}

/**
 * Deletes the attempts of an endpoint that are older than its newest `kept` ones, the newest `limit` of them. The limits of time
 * are found first, so that the deletion is one scan of the index whatever the planner expects.
 */
async function deleteDeliveries(
  on: Queryable,
  { guildId, id }: EndpointKey,
  { kept, limit }: { kept: number; limit: number },
): Promise<void> {
  const timeAt = (place: string) => `(SELECT at FROM events.deliveries WHERE guild_id = $1 AND endpoint_id = $2::uuid
       ORDER BY day DESC, at DESC, id DESC OFFSET ${place} LIMIT 1)`;
  await on.query(
    `WITH deleted AS MATERIALIZED (
       SELECT ${timeAt('$3::int')} AS last, coalesce(${timeAt('$3::int + $4::int')}, '-infinity') AS after
     )
     DELETE FROM events.deliveries WHERE guild_id = $1 AND endpoint_id = $2::uuid
       AND day BETWEEN (SELECT (after AT TIME ZONE 'UTC')::date FROM deleted) AND (SELECT (last AT TIME ZONE 'UTC')::date FROM deleted)
       AND at > (SELECT after FROM deleted) AND at <= (SELECT last FROM deleted)`,
    [guildId, id, kept, limit],
  );
}

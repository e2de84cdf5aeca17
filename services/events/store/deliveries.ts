import type { Queryable } from '#kit/postgres/pool.ts';
import type { Delivery } from '../domain/endpoint.ts';

/** The position of a page: the last row of the page before it. */
export interface DeliveryPosition {
  /** Unix microseconds. */
  atMicros: number;
  id: string;
}

/** How long, in days, attempts are listed; their partitions are dropped after that. */
export const DELIVERY_DAYS = 7;

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

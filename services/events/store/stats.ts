import { longRunning, type Queryable } from '#kit/postgres/pool.ts';
import { MAX_PARKED } from '../domain/endpoint.ts';

/** The numbers of endpoints by state; a state may include another one. */
export interface EndpointCounts {
  enabled: number;
  /** Enabled, and behind the newest event that it may have to receive. */
  due: number;
  failing: number;
  /** Enabled, and waiting because too many events are parked. */
  full: number;
  disabled: number;
  /** The number of parked events of all endpoints. */
  parked: number;
}

/** Counts the endpoints of all guilds. */
export async function countEndpoints(on: Queryable): Promise<EndpointCounts> {
  const [counts] = await on.query<EndpointCounts>(
    longRunning(`SELECT count(*) FILTER (WHERE enabled) AS enabled,
       count(*) FILTER (WHERE enabled AND cursor_seq < wanted_seq) AS due,
       count(*) FILTER (WHERE enabled AND failing_since IS NOT NULL) AS failing,
       count(*) FILTER (WHERE enabled AND parked >= ${MAX_PARKED}) AS full,
       count(*) FILTER (WHERE NOT enabled) AS disabled,
       coalesce(sum(parked), 0)::bigint AS parked
     FROM events.endpoints`),
  );
  return counts ?? { enabled: 0, due: 0, failing: 0, full: 0, disabled: 0, parked: 0 };
}

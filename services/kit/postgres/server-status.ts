import type { Part } from '../service/lifecycle.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Queryable } from './pool.ts';

const INTERVAL_MS = 15_000;

/**
 * Connections of clients, and how many the server allows to ordinary roles. The lag of replicas is only visible to
 * members of pg_read_all_stats; `max(replay_lag)` is NULL while a replica has nothing left to replay.
 */
const STATUS = `
  SELECT
    (SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL AND usesysid IS NOT NULL) AS connections,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true)::int, 0) AS max,
    (SELECT CASE WHEN count(replay_lsn) > 0 THEN coalesce(extract(epoch FROM max(replay_lag)), 0)::float8 END
       FROM pg_stat_replication) AS lag`;

interface ServerStatus {
  connections: number;
  max: number;
  /** The lag of the slowest replica in seconds; null if there is none, or the role may not see it. */
  lag: number | null;
}

export interface DatabaseServerStatusOptions {
  database: Queryable;
  metrics: Metrics;
}

/** Exports how many connections the PostgreSQL server has, and how far its replicas are behind, read every 15 s. */
export class DatabaseServerStatus implements Part {
  readonly name = 'status of PostgreSQL';
  readonly #database: Queryable;
  readonly #connections;
  readonly #max;
  readonly #lag;
  #timer: NodeJS.Timeout | undefined;

  constructor({ database, metrics }: DatabaseServerStatusOptions) {
    this.#database = database;
    this.#connections = metrics.gauge(
      'postgres_server_connections',
      'Connections of all clients to the PostgreSQL server, read every 15 s',
    );
    this.#max = metrics.gauge(
      'postgres_server_connections_max',
      'Connections that the PostgreSQL server allows to ordinary roles: max_connections without reserved ones',
    );
    // A gauge with a label has no series until it is set: without replicas there is no lag.
    this.#lag = metrics.gauge(
      'postgres_replication_lag_seconds',
      'Lag of the slowest replica of PostgreSQL by what it has replayed; only if the role may read pg_stat_replication',
      ['stage'],
    );
  }

  async start(): Promise<void> {
    await this.update();
    this.#timer = setInterval(() => void this.update(), INTERVAL_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
  }

  /** Reads the status. If that fails, the previous values stay: other metrics show that PostgreSQL does not respond. */
  async update(): Promise<void> {
    const [status] = await this.#database.query<ServerStatus>(STATUS).catch(() => []);
    if (!status) return;
    this.#connections.set(status.connections);
    this.#max.set(status.max);
    if (status.lag === null) this.#lag.reset();
    else this.#lag.set({ stage: 'replay' }, status.lag);
  }
}

import type { PanelSpec } from './dashboard.ts';

/** What the processes see of PostgreSQL and Redis. `jobs`: the matchers that select the processes. */
export function storagePanels(jobs: string): PanelSpec[] {
  const quantile = (share: number, metric: string) =>
    `histogram_quantile(${share}, sum by (le, job) (rate(${metric}_bucket{${jobs}}[$__rate_interval])))`;
  return [
    {
      title: 'SQL statements, p95',
      description: 'Time until PostgreSQL responded to a statement, including the time that it waited for locks.',
      unit: 's',
      queries: { '{{job}}': quantile(0.95, 'postgres_statement_seconds') },
      alerts: ['GuildDataDatabaseSlow'],
    },
    {
      title: 'Redis round trip, p90',
      description: 'Time until Redis responded to a PING, which each process sends every 15 seconds.',
      unit: 's',
      queries: { '{{job}}': quantile(0.9, 'redis_round_trip_seconds') },
      alerts: ['GuildDataRedisSlow'],
    },
    {
      title: 'Connections and memory against the maximum',
      description: 'Open connections of PostgreSQL and Redis, and the memory of Redis, as a share of what they allow.',
      unit: 'percentunit',
      max: 1,
      queries: {
        'PostgreSQL connections': `max(postgres_server_connections{${jobs}} / postgres_server_connections_max{${jobs}})`,
        'Redis connections': `max(redis_server_clients{${jobs}} / redis_server_clients_max{${jobs}})`,
        'Redis memory': `max(redis_server_memory_bytes{${jobs}} / redis_server_memory_max_bytes{${jobs}})`,
      },
      alerts: [
        'GuildDataDatabaseConnectionsNearMax',
        'GuildDataRedisConnectionsNearMax',
        'GuildDataRedisMemoryNearMax',
      ],
    },
    {
      title: 'Replication lag',
      description:
        'PostgreSQL: replay lag of its slowest replica. Redis: time since its slowest replica confirmed what it received. Nothing is shown without replicas, or if our role (pg_read_all_stats) or Redis user (INFO) may not read their state.',
      unit: 's',
      queries: {
        PostgreSQL: `max(postgres_replication_lag_seconds{${jobs}})`,
        Redis: `max(redis_replication_lag_seconds{${jobs}})`,
      },
      alerts: ['GuildDataDatabaseReplicationLag', 'GuildDataRedisReplicationLag'],
    },
    {
      title: 'Moves to another PostgreSQL host',
      description:
        'Times within the last hour that replicas of a service moved their connections, because another host of DATABASE_URL had become the primary; one failover counts once for each replica.',
      unit: 'short',
      queries: { '{{job}}': `sum by (job) (increase(postgres_primary_switches_total{${jobs}}[1h]))` },
    },
  ];
}

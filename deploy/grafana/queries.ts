/**
 * Parts of PromQL expressions. Every query selects the installations of the dashboard's variables, and counts each request
 * and each stored row once.
 */

/** The label matchers of the installations that the variables of a dashboard select. */
export const INSTALLATION = 'cluster=~"$cluster",namespace=~"$namespace",release=~"$release"';
/** All processes. */
export const ALL_JOBS = `${INSTALLATION},job=~"guild-data/.+"`;
/** The services that the variable `$job` selects. */
export const SELECTED_JOBS = `${INSTALLATION},job=~"$job"`;
/** Without the gateway and the console: both also count each request that they relay to a service. */
export const BEHIND_GATEWAY = 'job!~"guild-data/(gateway|console)"';

export const jobOf = (service: string) => `${INSTALLATION},job="guild-data/${service}"`;

/** The increase per second, added up over replicas. */
export function rate(metric: string, matchers: string, by: readonly string[] = []): string {
  return `${aggregate('sum', by)}(rate(${metric}{${matchers}}[$__rate_interval]))`;
}

/** A quantile of a histogram over all replicas. */
export function quantile(share: number, metric: string, matchers: string, by: readonly string[] = []): string {
  return `histogram_quantile(${share}, ${rate(`${metric}_bucket`, matchers, ['le', ...by])})`;
}

const LIMITERS = `${INSTALLATION},job=~"guild-data/(gateway|console)"`;
/**
 * Gateways and consoles that count rate limits by themselves although Redis is configured, as in the alert
 * GuildDataLimiterDegraded. Without REDIS_URL a process has no redis_connected.
 */
export const LIMITERS_WITHOUT_REDIS = `sum(gateway_limiter_degraded{${LIMITERS}} and on (cluster, namespace, release, job, instance) redis_connected{${LIMITERS}})`;

/** What each replica of an installation reports for the whole installation. */
const EACH = ['cluster', 'namespace', 'release', 'job'];

/**
 * A number that every replica reads from the database of its installation, and so all report the same: only different
 * installations and services are added up. `vector` is a selector, or a function of one.
 */
export function stored(vector: string, by: readonly string[] = []): string {
  const each = aggregate('max', [...EACH, ...by.filter((label) => !EACH.includes(label))]);
  return `${aggregate('sum', by)}(${each}(${vector}))`;
}

const aggregate = (operation: string, by: readonly string[]) =>
  by.length === 0 ? operation : `${operation} by (${by.join(', ')}) `;

/** The metrics that every replica reports for the whole installation: they must not be added up over replicas. */
export const INSTALLATION_WIDE: readonly string[] = [
  'activity_commands_expired_total',
  'activity_oldest_unacknowledged_command_seconds',
  'activity_unacknowledged_commands',
  'chat_invalid_requests',
  'events_audit_entries',
  'events_audit_oldest_seconds',
  'events_partitions',
  'events_partitions_bytes',
  'members_role_task_oldest_queued_seconds',
  'members_role_tasks',
  'members_sync_job_longest_stall_seconds',
  'members_sync_job_oldest_unfinished_seconds',
  'members_sync_jobs',
  'moderation_outbox_oldest_seconds',
  'postgres_replication_lag_seconds',
  'postgres_server_connections',
  'postgres_server_connections_max',
  'queue_items',
  'queue_oldest_seconds',
  'redis_replication_lag_seconds',
  'redis_server_clients',
  'redis_server_clients_max',
  'redis_server_memory_bytes',
  'redis_server_memory_max_bytes',
  'webhook_endpoints',
  'webhook_parked_events',
];

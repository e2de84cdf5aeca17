import type { DashboardSpec } from '../dashboard.ts';

const JOB = 'namespace=~"$namespace",job=~"$job"';
const AUTH = 'namespace=~"$namespace",job="guild-data/auth"';
const ACTIVITY = 'namespace=~"$namespace",job="guild-data/activity"';
const MODERATION = 'namespace=~"$namespace",job="guild-data/moderation"';
const MEMBERS = 'namespace=~"$namespace",job="guild-data/members"';
const quantile = (share: number, metric: string, by: string) =>
  `histogram_quantile(${share}, sum by (le, ${by}) (rate(${metric}_bucket{${JOB}}[$__rate_interval])))`;

export const services: DashboardSpec = {
  name: 'services',
  title: 'Services',
  description: 'Requests, database, processes, queues, and the work of each service.',
  jobs: 'guild-data/.+',
  rows: {
    Calls: [
      {
        title: 'REST requests by route',
        description: 'Requests that the services received from the gateways, by route.',
        unit: 'reqps',
        queries: { '{{route}}': `sum by (route) (rate(http_requests_total{${JOB}}[$__rate_interval]))` },
      },
      {
        title: 'REST latency by route, p99',
        description:
          'Time until the response was written, by route; for long polls this includes the time that they waited.',
        unit: 's',
        queries: { '{{route}}': quantile(0.99, 'http_request_duration_seconds', 'route') },
      },
      {
        title: '5xx responses by service and status',
        description: 'Responses with a 5xx status, by service.',
        unit: 'reqps',
        queries: {
          '{{job}} {{code}}': `sum by (job, code) (rate(http_requests_total{${JOB},code=~"5.."}[$__rate_interval]))`,
        },
        alerts: ['GuildDataInternalErrors'],
      },
      {
        title: 'gRPC calls by method',
        description: 'Calls that the services handled, by method.',
        unit: 'reqps',
        queries: { '{{method}}': `sum by (method) (rate(grpc_server_handled_total{${JOB}}[$__rate_interval]))` },
      },
      {
        title: 'gRPC latency by method, p99',
        description: 'Time until the call was answered, by method; the long-lived Watch streams are left out.',
        unit: 's',
        queries: {
          '{{method}}': `histogram_quantile(0.99, sum by (le, method) (rate(grpc_server_handling_seconds_bucket{${JOB},method!~".*/Watch"}[$__rate_interval])))`,
        },
      },
      {
        title: 'Failed gRPC calls',
        description: 'Calls to other services that ended with a status other than OK, by code.',
        unit: 'reqps',
        queries: {
          '{{job}} {{method}} {{code}}': `sum by (job, method, code) (rate(grpc_client_handled_total{${JOB},code!="OK"}[$__rate_interval]))`,
        },
        alerts: ['GuildDataBreakerOpen', 'GuildDataInternalCallsRefused'],
      },
    ],
    Database: [
      {
        title: 'PostgreSQL connections',
        description: 'Used and idle connections in the pools of each service, and callers that wait for one.',
        unit: 'short',
        queries: { '{{job}} {{state}}': `sum by (job, state) (postgres_pool_connections{${JOB}})` },
        alerts: ['GuildDataPoolExhausted'],
      },
      {
        title: 'Wait for a PostgreSQL connection, p99',
        description: 'Time until the pool had a free connection.',
        unit: 's',
        queries: { '{{job}}': quantile(0.99, 'postgres_pool_wait_seconds', 'job') },
        alerts: ['GuildDataPoolExhausted'],
      },
      {
        title: 'PostgreSQL connection timeouts',
        description: 'Callers that got no connection from the pool within two seconds.',
        unit: 'reqps',
        queries: { '{{job}}': `sum by (job) (rate(postgres_pool_failures_total{${JOB}}[$__rate_interval]))` },
        alerts: ['GuildDataDatabaseUnavailable'],
      },
    ],
    Processes: [
      {
        title: 'CPU usage',
        description: 'Cores used by each replica.',
        unit: 'short',
        queries: { '{{job}} {{instance}}': `rate(process_cpu_seconds_total{${JOB}}[$__rate_interval])` },
        alerts: ['GuildDataProcessBusy'],
      },
      {
        title: 'Resident memory',
        description: 'Resident memory of each replica.',
        unit: 'bytes',
        queries: { '{{job}} {{instance}}': `process_resident_memory_bytes{${JOB}}` },
      },
      {
        title: 'Event loop lag, p99',
        description: 'How long the event loop of each replica was blocked.',
        unit: 's',
        queries: { '{{job}} {{instance}}': `nodejs_eventloop_lag_p99_seconds{${JOB}}` },
        alerts: ['GuildDataEventLoopSlow'],
      },
      {
        title: 'Open file descriptors',
        description: 'Open file descriptors of each replica as a share of its limit.',
        unit: 'percentunit',
        max: 1,
        queries: { '{{job}} {{instance}}': `process_open_fds{${JOB}} / process_max_fds{${JOB}}` },
        alerts: ['GuildDataFilesNearLimit'],
      },
      {
        title: 'Time in garbage collection',
        description: 'Share of time that each replica spent in garbage collection.',
        unit: 'percentunit',
        queries: {
          '{{job}} {{instance}}': `sum by (job, instance) (rate(nodejs_gc_duration_seconds_sum{${JOB}}[$__rate_interval]))`,
        },
      },
      {
        title: 'Time until certificates expire',
        description:
          'Remaining time of the certificates for TLS between the services, and of the CAs that verify them.',
        unit: 's',
        queries: {
          '{{job}} {{certificate}}': `min by (job, certificate) (tls_certificate_expiry_timestamp_seconds{${JOB}}) - time()`,
        },
        alerts: ['GuildDataCertificateEnds', 'GuildDataCertificateEndsNow'],
      },
      {
        title: 'Process restarts, 1 hour',
        description: 'How often each replica was restarted within an hour.',
        unit: 'short',
        queries: { '{{job}} {{instance}}': `changes(process_start_time_seconds{${JOB}}[1h])` },
        alerts: ['GuildDataRestarts'],
      },
    ],
    'Game servers': [
      {
        title: 'Game server heartbeats',
        description: 'Heartbeats received from game servers, and batches in which they were written to the database.',
        unit: 'reqps',
        queries: {
          heartbeats: `sum(rate(activity_server_heartbeats_total{${ACTIVITY}}[$__rate_interval]))`,
          batches: `sum(rate(activity_heartbeat_batches_total{${ACTIVITY}}[$__rate_interval]))`,
        },
        alerts: ['GuildDataGameServersSilent'],
      },
      {
        title: 'Commands to game servers',
        description: 'Commands created, delivered (by attempt), acknowledged, and expired without an acknowledgement.',
        unit: 'reqps',
        queries: {
          created: `sum(rate(activity_commands_enqueued_total{${ACTIVITY}}[$__rate_interval]))`,
          'delivered, attempt {{attempt}}': `sum by (attempt) (rate(activity_commands_leased_total{${ACTIVITY}}[$__rate_interval]))`,
          'acknowledged {{status}}': `sum by (status) (rate(activity_commands_acknowledged_total{${ACTIVITY}}[$__rate_interval]))`,
          'expired {{state}}': `max by (state) (rate(activity_commands_expired_total{${ACTIVITY}}[$__rate_interval]))`,
        },
        alerts: ['GuildDataCommandsNotAcknowledged'],
      },
      {
        title: 'Waiting long polls by replica, share of the limit',
        description:
          'Long polls of game servers that wait in each replica of the activity service, as a share of MAX_WAITING_POLLS.',
        unit: 'percentunit',
        max: 1,
        queries: { '{{instance}}': `activity_open_polls{${ACTIVITY}} / activity_open_polls_max{${ACTIVITY}}` },
        alerts: ['GuildDataPollsNearLimit'],
      },
    ],
    'Sync jobs': [
      {
        title: 'Unfinished role sync jobs',
        description: 'Jobs that synchronise the roles of all members of a guild, by state: queued, running or paused.',
        unit: 'short',
        queries: { '{{state}}': `max by (state) (members_sync_jobs{${MEMBERS}})` },
        alerts: ['GuildDataJobsStuck', 'GuildDataJobStalled'],
      },
      {
        title: 'Role sync jobs: age and time without progress',
        description:
          'Time since the oldest unfinished job was queued, and the longest time that a running job has made no progress.',
        unit: 's',
        queries: {
          'since it was queued': `max(members_sync_job_oldest_unfinished_seconds{${MEMBERS}})`,
          'longest time without progress': `max(members_sync_job_longest_stall_seconds{${MEMBERS}})`,
        },
        alerts: ['GuildDataJobsStuck', 'GuildDataJobStalled'],
      },
      {
        title: 'Members processed by role sync jobs',
        description: 'Members that jobs processed, by outcome; and jobs that finished, by outcome.',
        unit: 'reqps',
        queries: {
          '{{outcome}}': `sum by (outcome) (rate(members_sync_job_members_total{${MEMBERS}}[$__rate_interval]))`,
          'jobs {{outcome}}': `sum by (outcome) (rate(members_sync_jobs_finished_total{${MEMBERS}}[$__rate_interval]))`,
        },
        alerts: ['GuildDataJobsGivenUp'],
      },
    ],
    Queues: [
      {
        title: 'Background queue items',
        description: 'Items of the background queues by state: waiting, in flight, dead letter.',
        unit: 'short',
        queries: { '{{queue}} {{state}}': `max by (queue, state) (queue_items{${JOB}})` },
        alerts: ['GuildDataDeadLetters'],
      },
      {
        title: 'Age of the oldest background queue item',
        description: 'Age of the oldest unfinished item of each queue.',
        unit: 's',
        queries: { '{{queue}}': `max by (queue) (queue_oldest_seconds{${JOB}})` },
        alerts: ['GuildDataQueueStuck'],
      },
      {
        title: 'Attempts to process queue items, by outcome',
        description:
          'Attempts to process an item of a background queue, by queue and outcome; unavailable: a service or platform that the queue needs is down.',
        unit: 'reqps',
        queries: {
          '{{queue}} {{outcome}}': `sum by (queue, outcome) (rate(queue_attempts_total{${JOB}}[$__rate_interval]))`,
        },
      },
    ],
    'Moderation and members': [
      {
        title: 'Bans and mutes',
        description:
          'Bans, mutes and their lifting by action, and attempts to deliver them to the activity service by outcome.',
        unit: 'reqps',
        queries: {
          '{{action}}': `sum by (action) (rate(moderation_decisions_total{${MODERATION}}[$__rate_interval]))`,
          'delivery {{outcome}}': `sum by (outcome) (rate(moderation_deliveries_total{${MODERATION}}[$__rate_interval]))`,
        },
        alerts: ['GuildDataOutboxStuck'],
      },
      {
        title: 'Ban and mute status checks',
        description: 'Players whose bans and mutes were checked, from the cache or from the database.',
        unit: 'reqps',
        queries: { '{{source}}': `sum by (source) (rate(moderation_checks_total{${MODERATION}}[$__rate_interval]))` },
      },
      {
        title: 'Role updates after link changes',
        description:
          'Members whose roles must be updated because their link changed: waiting tasks, dead letters and attempts.',
        unit: 'short',
        queries: {
          '{{state}}': `max by (state) (members_role_tasks{${MEMBERS}})`,
          'oldest task, minutes': `max(members_role_task_oldest_queued_seconds{${MEMBERS}}) / 60`,
          'attempts per minute, {{outcome}}': `60 * sum by (outcome) (rate(members_role_task_attempts_total{${MEMBERS}}[$__rate_interval]))`,
        },
        alerts: ['GuildDataRoleTasksDead', 'GuildDataRoleTasksLate'],
      },
      {
        title: 'Link and role changes',
        description: 'Created and removed links, and roles that were assigned or removed, by outcome.',
        unit: 'reqps',
        queries: {
          '{{kind}} {{outcome}}': `sum by (kind, outcome) (rate(members_link_changes_total{${MEMBERS}}[$__rate_interval]))`,
          'roles {{outcome}}': `sum by (outcome) (rate(members_roles_synced_total{${MEMBERS}}[$__rate_interval]))`,
        },
      },
      {
        title: 'Operator calls and audit checks',
        description: 'Calls by operators, by result; and audit chains that the hourly check signed or found broken.',
        unit: 'short',
        queries: {
          'calls {{result}}': `sum by (result) (increase(auth_operator_calls_total{${AUTH}}[1h]))`,
          'audit chains {{result}}': `sum by (result) (increase(auth_audit_chains_total{${AUTH}}[1h]))`,
        },
        alerts: ['GuildDataAuditBroken'],
      },
    ],
  },
};

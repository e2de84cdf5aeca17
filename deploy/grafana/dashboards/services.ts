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
  description: 'Calls, database, processes, and what each service does.',
  jobs: 'guild-data/.+',
  rows: {
    Calls: [
      {
        title: 'REST',
        description: 'Requests that the gateways passed on, by route.',
        unit: 'reqps',
        queries: { '{{route}}': `sum by (route) (rate(http_requests_total{${JOB}}[$__rate_interval]))` },
      },
      {
        title: 'p99 of REST',
        description: 'Time to answer, by route; of polls it holds what they waited.',
        unit: 's',
        queries: { '{{route}}': quantile(0.99, 'http_request_duration_seconds', 'route') },
      },
      {
        title: 'Faults',
        description: 'Answers with 5xx by service.',
        unit: 'reqps',
        queries: {
          '{{job}} {{code}}': `sum by (job, code) (rate(http_requests_total{${JOB},code=~"5.."}[$__rate_interval]))`,
        },
        alerts: ['GuildDataInternalErrors'],
      },
      {
        title: 'gRPC',
        description: 'Calls answered, by method.',
        unit: 'reqps',
        queries: { '{{method}}': `sum by (method) (rate(grpc_server_handled_total{${JOB}}[$__rate_interval]))` },
      },
      {
        title: 'p99 of gRPC',
        description: 'Time to answer, by method; streams last as long as they are wanted.',
        unit: 's',
        queries: {
          '{{method}}': `histogram_quantile(0.99, sum by (le, method) (rate(grpc_server_handling_seconds_bucket{${JOB},method!~".*/Watch"}[$__rate_interval])))`,
        },
      },
      {
        title: 'Calls that failed',
        description: 'Calls to other services that were not answered with OK, by code.',
        unit: 'reqps',
        queries: {
          '{{job}} {{method}} {{code}}': `sum by (job, method, code) (rate(grpc_client_handled_total{${JOB},code!="OK"}[$__rate_interval]))`,
        },
        alerts: ['GuildDataBreakerOpen', 'GuildDataInternalCallsRefused'],
      },
    ],
    Database: [
      {
        title: 'Connections',
        description: 'Used and idle connections of each service, and calls that wait for one.',
        unit: 'short',
        queries: { '{{job}} {{state}}': `sum by (job, state) (postgres_pool_connections{${JOB}})` },
        alerts: ['GuildDataPoolExhausted'],
      },
      {
        title: 'p99 of the wait for a connection',
        description: 'Time until a connection was free.',
        unit: 's',
        queries: { '{{job}}': quantile(0.99, 'postgres_pool_wait_seconds', 'job') },
        alerts: ['GuildDataPoolExhausted'],
      },
      {
        title: 'No connection',
        description: 'Calls that got no connection within two seconds.',
        unit: 'reqps',
        queries: { '{{job}}': `sum by (job) (rate(postgres_pool_failures_total{${JOB}}[$__rate_interval]))` },
        alerts: ['GuildDataDatabaseUnavailable'],
      },
    ],
    Processes: [
      {
        title: 'CPU',
        description: 'Cores used by each replica.',
        unit: 'short',
        queries: { '{{job}} {{instance}}': `rate(process_cpu_seconds_total{${JOB}}[$__rate_interval])` },
        alerts: ['GuildDataProcessBusy'],
      },
      {
        title: 'Memory',
        description: 'Resident memory of each replica.',
        unit: 'bytes',
        queries: { '{{job}} {{instance}}': `process_resident_memory_bytes{${JOB}}` },
      },
      {
        title: 'Event loop',
        description: 'How late the event loop of each replica was, p99.',
        unit: 's',
        queries: { '{{job}} {{instance}}': `nodejs_eventloop_lag_p99_seconds{${JOB}}` },
        alerts: ['GuildDataEventLoopSlow'],
      },
      {
        title: 'Open files',
        description: 'Share of the file descriptors that a replica may have open.',
        unit: 'percentunit',
        max: 1,
        queries: { '{{job}} {{instance}}': `process_open_fds{${JOB}} / process_max_fds{${JOB}}` },
        alerts: ['GuildDataFilesNearLimit'],
      },
      {
        title: 'Garbage collection',
        description: 'Share of time spent on it by each replica.',
        unit: 'percentunit',
        queries: {
          '{{job}} {{instance}}': `sum by (job, instance) (rate(nodejs_gc_duration_seconds_sum{${JOB}}[$__rate_interval]))`,
        },
      },
      {
        title: 'Certificates',
        description: 'Time until the certificates between the services end, and the CAs that they are checked by.',
        unit: 's',
        queries: {
          '{{job}} {{certificate}}': `min by (job, certificate) (tls_certificate_expiry_timestamp_seconds{${JOB}}) - time()`,
        },
        alerts: ['GuildDataCertificateEnds', 'GuildDataCertificateEndsNow'],
      },
      {
        title: 'Restarts',
        description: 'How often each replica was started again within an hour.',
        unit: 'short',
        queries: { '{{job}} {{instance}}': `changes(process_start_time_seconds{${JOB}}[1h])` },
        alerts: ['GuildDataRestarts'],
      },
    ],
    'Game servers': [
      {
        title: 'Heartbeats',
        description: 'Heartbeats of game servers, and batches in which they were written.',
        unit: 'reqps',
        queries: {
          heartbeats: `sum(rate(activity_server_heartbeats_total{${ACTIVITY}}[$__rate_interval]))`,
          batches: `sum(rate(activity_heartbeat_batches_total{${ACTIVITY}}[$__rate_interval]))`,
        },
        alerts: ['GuildDataGameServersSilent'],
      },
      {
        title: 'Commands',
        description: 'Commands made, handed over, acknowledged, and expired without it.',
        unit: 'reqps',
        queries: {
          made: `sum(rate(activity_commands_enqueued_total{${ACTIVITY}}[$__rate_interval]))`,
          'handed over {{attempt}}': `sum by (attempt) (rate(activity_commands_leased_total{${ACTIVITY}}[$__rate_interval]))`,
          'acknowledged {{status}}': `sum by (status) (rate(activity_commands_acknowledged_total{${ACTIVITY}}[$__rate_interval]))`,
          'expired {{state}}': `max by (state) (rate(activity_commands_expired_total{${ACTIVITY}}[$__rate_interval]))`,
        },
        alerts: ['GuildDataCommandsNotAcknowledged'],
      },
      {
        title: 'Polls that wait',
        description: 'Of each replica, as a share of those that it holds.',
        unit: 'percentunit',
        max: 1,
        queries: { '{{instance}}': `activity_open_polls{${ACTIVITY}} / activity_open_polls_max{${ACTIVITY}}` },
        alerts: ['GuildDataPollsNearLimit'],
      },
    ],
    Jobs: [
      {
        title: 'Unfinished jobs',
        description: 'Synchronisations of groups that are queued, running or paused.',
        unit: 'short',
        queries: { '{{state}}': `max by (state) (members_sync_jobs{${MEMBERS}})` },
        alerts: ['GuildDataJobsStuck', 'GuildDataJobStalled'],
      },
      {
        title: 'Oldest unfinished job',
        description: 'Time since it was queued, and the longest time without progress.',
        unit: 's',
        queries: {
          'since it was queued': `max(members_sync_job_oldest_unfinished_seconds{${MEMBERS}})`,
          'since the last progress of the one that stands still': `max(members_sync_job_longest_stall_seconds{${MEMBERS}})`,
        },
        alerts: ['GuildDataJobsStuck', 'GuildDataJobStalled'],
      },
      {
        title: 'Members dealt with by jobs',
        description: 'Members that jobs looked at, changed, or failed to change; and jobs that ended.',
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
        title: 'Queue items',
        description: 'Background work that waits or is in flight, and dead letters.',
        unit: 'short',
        queries: { '{{queue}} {{state}}': `max by (queue, state) (queue_items{${JOB}})` },
        alerts: ['GuildDataDeadLetters'],
      },
      {
        title: 'Oldest queue item',
        description: 'Age of the oldest item of each queue that is not done.',
        unit: 's',
        queries: { '{{queue}}': `max by (queue) (queue_oldest_seconds{${JOB}})` },
        alerts: ['GuildDataQueueStuck'],
      },
      {
        title: 'Queue attempts',
        description: 'Attempts to handle an item, by outcome; unavailable: what the queue needs is down.',
        unit: 'reqps',
        queries: {
          '{{queue}} {{outcome}}': `sum by (queue, outcome) (rate(queue_attempts_total{${JOB}}[$__rate_interval]))`,
        },
      },
    ],
    'Moderation and members': [
      {
        title: 'Decisions',
        description: 'Bans and mutes, and how they reached activity.',
        unit: 'reqps',
        queries: {
          '{{action}}': `sum by (action) (rate(moderation_decisions_total{${MODERATION}}[$__rate_interval]))`,
          'delivery {{outcome}}': `sum by (outcome) (rate(moderation_deliveries_total{${MODERATION}}[$__rate_interval]))`,
        },
        alerts: ['GuildDataOutboxStuck'],
      },
      {
        title: 'Checks',
        description: 'Players asked about, answered from memory or by the database.',
        unit: 'reqps',
        queries: { '{{source}}': `sum by (source) (rate(moderation_checks_total{${MODERATION}}[$__rate_interval]))` },
      },
      {
        title: 'Role tasks',
        description: 'Members whose roles follow a change of their link: waiting tasks, dead letters and attempts.',
        unit: 'short',
        queries: {
          '{{state}}': `max by (state) (members_role_tasks{${MEMBERS}})`,
          'oldest, in minutes': `max(members_role_task_oldest_queued_seconds{${MEMBERS}}) / 60`,
          'attempts a minute, {{outcome}}': `60 * sum by (outcome) (rate(members_role_task_attempts_total{${MEMBERS}}[$__rate_interval]))`,
        },
        alerts: ['GuildDataRoleTasksDead', 'GuildDataRoleTasksLate'],
      },
      {
        title: 'Links and roles',
        description: 'Changes of links, and roles that were synchronised.',
        unit: 'reqps',
        queries: {
          '{{kind}} {{outcome}}': `sum by (kind, outcome) (rate(members_link_changes_total{${MEMBERS}}[$__rate_interval]))`,
          'roles {{outcome}}': `sum by (outcome) (rate(members_roles_synced_total{${MEMBERS}}[$__rate_interval]))`,
        },
      },
      {
        title: 'Administration',
        description: 'Calls of operators, by result, and audit chains that the hourly check signed or found broken.',
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

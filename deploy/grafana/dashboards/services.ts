import type { DashboardSpec } from '../dashboard.ts';
import { personPanels } from '../person-panels.ts';
import { BEHIND_GATEWAY, SELECTED_JOBS as JOB, jobOf, quantile, rate, stored } from '../queries.ts';
import { storagePanels } from '../storage-panels.ts';

const ROUTED = `${JOB},${BEHIND_GATEWAY}`;
const ACTIVITY = jobOf('activity');
const MEMBERS = jobOf('members');

export const services: DashboardSpec = {
  name: 'services',
  title: 'Services',
  description: 'Requests, database, processes, queues, and the work of each service.',
  jobs: 'guild-data/.+',
  rows: {
    Calls: [
      {
        title: 'REST requests by route',
        description: 'Requests that the services received from the gateways and consoles, by route.',
        unit: 'reqps',
        queries: { '{{route}}': rate('http_requests_total', ROUTED, ['route']) },
      },
      {
        title: 'REST latency by route, p99',
        description:
          'Time until the response was written, by route; for long polls this includes the time that they waited.',
        unit: 's',
        queries: { '{{route}}': quantile(0.99, 'http_request_duration_seconds', ROUTED, ['route']) },
      },
      {
        title: '5xx responses by service and status',
        description:
          'Responses with a 5xx status, by service; those of the gateways and consoles are in their own dashboards.',
        unit: 'reqps',
        queries: {
          '{{job}} {{code}}': rate('http_requests_total', `${ROUTED},code=~"5.."`, ['job', 'code']),
        },
        alerts: ['GuildDataInternalErrors'],
      },
      {
        title: 'gRPC calls by method',
        description: 'Calls that the services handled, by method.',
        unit: 'reqps',
        queries: { '{{method}}': rate('grpc_server_handled_total', JOB, ['method']) },
      },
      {
        title: 'gRPC latency by method, p99',
        description: 'Time until the call was answered, by method; the long-lived Watch streams are left out.',
        unit: 's',
        queries: {
          '{{method}}': quantile(0.99, 'grpc_server_handling_seconds', `${JOB},method!~".*/Watch"`, ['method']),
        },
      },
      {
        title: 'Failed gRPC calls',
        description:
          'Calls to other services that ended with a status other than OK, by calling service, method and code.',
        unit: 'reqps',
        queries: {
          '{{job}} {{method}} {{code}}': rate('grpc_client_handled_total', `${JOB},code!="OK"`, [
            'job',
            'method',
            'code',
          ]),
        },
        alerts: ['GuildDataBreakerOpen', 'GuildDataInternalCallsRejected'],
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
        queries: { '{{job}}': quantile(0.99, 'postgres_pool_wait_seconds', JOB, ['job']) },
        alerts: ['GuildDataPoolExhausted'],
      },
      {
        title: 'Callers without a PostgreSQL connection',
        description:
          'Callers that got no connection from the pool: none became free in 1.5 s, connecting failed, or PostgreSQL does not respond.',
        unit: 'reqps',
        queries: { '{{job}}': rate('postgres_pool_failures_total', JOB, ['job']) },
        alerts: ['GuildDataDatabaseUnavailable'],
      },
    ],
    'PostgreSQL and Redis': storagePanels(JOB),
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
          '{{job}} {{instance}}': rate('nodejs_gc_duration_seconds_sum', JOB, ['job', 'instance']),
        },
      },
      {
        title: 'Time until certificates expire',
        min: 'none',
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
          heartbeats: rate('activity_server_heartbeats_total', ACTIVITY),
          batches: rate('activity_heartbeat_batches_total', ACTIVITY),
        },
        alerts: ['GuildDataGameServersSilent'],
      },
      {
        title: 'Commands to game servers',
        description: 'Commands created, delivered (by attempt), acknowledged, and expired without an acknowledgement.',
        unit: 'reqps',
        queries: {
          created: rate('activity_commands_enqueued_total', ACTIVITY),
          'delivered, attempt {{attempt}}': rate('activity_commands_leased_total', ACTIVITY, ['attempt']),
          'acknowledged {{status}}': rate('activity_commands_acknowledged_total', ACTIVITY, ['status']),
          'expired {{state}}': stored(`rate(activity_commands_expired_total{${ACTIVITY}}[$__rate_interval])`, [
            'state',
          ]),
        },
        alerts: ['GuildDataCommandsNotAcknowledged'],
      },
      {
        title: 'Wake-ups of game servers',
        description:
          'Messages of the game platform that tell game servers to fetch commands: accepted, rejected (unknown universe, or the key lacks a permission), failed, or dropped because the process was waking too many guilds. Servers whose message is missing fetch commands with their next heartbeat.',
        unit: 'reqps',
        queries: { '{{outcome}}': rate('activity_wake_ups_total', ACTIVITY, ['outcome']) },
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
        queries: { '{{state}}': stored(`members_sync_jobs{${MEMBERS}}`, ['state']) },
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
        description:
          'Members that jobs processed (done), and those of them that were changed or could not be changed (failed); and jobs that finished, by outcome.',
        unit: 'reqps',
        queries: {
          '{{outcome}}': rate('members_sync_job_members_total', MEMBERS, ['outcome']),
          'jobs {{outcome}}': rate('members_sync_jobs_finished_total', MEMBERS, ['outcome']),
        },
        alerts: ['GuildDataJobsGivenUp'],
      },
    ],
    Queues: [
      {
        title: 'Background queue items',
        description:
          'Items of the background queues of each service: waiting or in flight (queued), and no longer retried (dead); each counted up to 10,000.',
        unit: 'short',
        queries: { '{{job}} {{queue}} {{state}}': stored(`queue_items{${JOB}}`, ['job', 'queue', 'state']) },
        alerts: ['GuildDataDeadLetters'],
      },
      {
        title: 'Age of the oldest background queue item',
        description: 'Age of the oldest unfinished item of each queue.',
        unit: 's',
        queries: { '{{job}} {{queue}}': `max by (job, queue) (queue_oldest_seconds{${JOB}})` },
        alerts: ['GuildDataQueueStuck'],
      },
      {
        title: 'Attempts to process queue items, by outcome',
        description:
          'Attempts to process an item of a background queue, by queue and outcome; unavailable: a service or platform that the queue needs is down.',
        unit: 'reqps',
        queries: {
          '{{job}} {{queue}} {{outcome}}': rate('queue_attempts_total', JOB, ['job', 'queue', 'outcome']),
        },
      },
    ],
    'Moderation and members': personPanels,
  },
};

import type { DashboardSpec } from '../dashboard.ts';

const NAMESPACE = 'namespace=~"$namespace"';
const EVENTS = `${NAMESPACE},job="guild-data/events"`;
const GATEWAY = `${NAMESPACE},job="guild-data/gateway"`;
const RATE = '$__rate_interval';

export const events: DashboardSpec = {
  name: 'events',
  title: 'Events and webhooks',
  description: 'The log of events, its readers, and the deliveries to webhooks.',
  rows: {
    Log: [
      {
        title: 'Events stored, and duplicates skipped',
        description: 'Events that services sent to the log. A duplicate was sent again because its response was lost.',
        unit: 'ops',
        queries: { '{{outcome}}': `sum by (outcome) (rate(events_appended_total{${EVENTS}}[${RATE}]))` },
      },
      {
        title: 'Delay until a recorded event is stored',
        description: 'Time from the commit of a change until its event is in the log.',
        unit: 's',
        queries: {
          p50: `histogram_quantile(0.5, sum by (le) (rate(events_lag_seconds_bucket{${EVENTS}}[${RATE}])))`,
          p95: `histogram_quantile(0.95, sum by (le) (rate(events_lag_seconds_bucket{${EVENTS}}[${RATE}])))`,
        },
      },
      {
        title: 'Age of the oldest event that waits to be stored',
        description: 'Events that wait in the database of the service that recorded them.',
        unit: 's',
        queries: { '{{job}}': `max by (job) (queue_oldest_seconds{${NAMESPACE},job=~"guild-data/.+",queue="events"})` },
        alerts: ['GuildDataEventsLate'],
      },
      {
        title: 'Events that wait to be stored',
        description: 'By service; counted up to 10,000.',
        unit: 'short',
        queries: {
          '{{job}}': `max by (job) (queue_items{${NAMESPACE},job=~"guild-data/.+",queue="events",state="queued"})`,
        },
      },
      {
        title: 'Size of the partitioned tables',
        description: 'The size of all partitions of a table. Retention drops whole days.',
        unit: 'bytes',
        queries: { '{{table}}': `max by (table) (events_partitions_bytes{${EVENTS}})` },
      },
      {
        title: 'Daily partitions by table',
        description: 'One partition for each stored day, and some for the coming days.',
        unit: 'short',
        queries: { '{{table}}': `max by (table) (events_partitions{${EVENTS}})` },
      },
    ],
    Readers: [
      {
        title: 'Waiting long polls',
        description: 'Requests that wait for new events, and the maximum of all replicas.',
        unit: 'short',
        queries: {
          waiting: `sum(events_waiting_polls{${EVENTS}})`,
          maximum: `sum(events_waiting_polls_max{${EVENTS}})`,
        },
      },
      {
        title: 'Open event streams',
        description:
          'Streams of server-sent events that the gateways relay, and that the replicas of events have open.',
        unit: 'short',
        queries: {
          '{{instance}}': `sum by (instance) (gateway_event_streams{${GATEWAY}})`,
          'events {{instance}}': `sum by (instance) (events_open_streams{${EVENTS}})`,
        },
      },
      {
        title: 'Event streams ended by the gateways, by reason',
        description: 'Why the gateways ended streams. Clients connect again unless their key lost the right to it.',
        unit: 'ops',
        queries: { '{{reason}}': `sum by (reason) (rate(gateway_event_stream_ends_total{${GATEWAY}}[${RATE}]))` },
      },
      {
        title: 'Event streams ended by the events service, by reason',
        description:
          'The process drains; the reader did not read (behind); the guild opened more than 20 (replaced); the events are no longer stored (gone); the gateway or the client disconnected (client).',
        unit: 'ops',
        queries: { '{{reason}}': `sum by (reason) (rate(events_stream_ends_total{${EVENTS}}[${RATE}]))` },
      },
    ],
    Webhooks: [
      {
        title: 'Delivery attempts by outcome',
        description:
          'Delivered; failed and sent again later; given up after the last attempt (dead); answered with 410 (gone); could not be sent (not_sent).',
        unit: 'ops',
        queries: { '{{outcome}}': `sum by (outcome) (rate(webhook_deliveries_total{${EVENTS}}[${RATE}]))` },
        alerts: ['GuildDataWebhooksFailing', 'GuildDataWebhooksNotSent', 'GuildDataWebhookEventsGivenUp'],
      },
      {
        title: 'Time from a change to its delivery',
        description: 'Only events that were delivered at the first attempt.',
        unit: 's',
        queries: {
          p50: `histogram_quantile(0.5, sum by (le) (rate(webhook_delivery_delay_seconds_bucket{${EVENTS}}[${RATE}])))`,
          p95: `histogram_quantile(0.95, sum by (le) (rate(webhook_delivery_delay_seconds_bucket{${EVENTS}}[${RATE}])))`,
        },
        alerts: ['GuildDataWebhooksLate'],
      },
      {
        title: 'Duration of delivery attempts',
        description: 'Time until the receiver had responded, or the attempt had failed.',
        unit: 's',
        queries: {
          p50: `histogram_quantile(0.5, sum by (le) (rate(webhook_attempt_duration_seconds_bucket{${EVENTS}}[${RATE}])))`,
          p99: `histogram_quantile(0.99, sum by (le) (rate(webhook_attempt_duration_seconds_bucket{${EVENTS}}[${RATE}])))`,
        },
      },
      {
        title: 'Webhook deliveries in flight: fast, slow, retries',
        description:
          'Webhooks to which events are being sent. Slow or failing webhooks and retries have concurrency limits (lanes) of their own.',
        unit: 'short',
        queries: { '{{lane}}': `sum by (lane) (webhook_deliveries_in_flight{${EVENTS}})` },
      },
      {
        title: 'Webhooks by state',
        description: 'All webhooks of the installation, and the events that wait for a retry.',
        unit: 'short',
        queries: {
          '{{state}}': `max by (state) (webhook_endpoints{${EVENTS}})`,
          'events waiting for a retry': `max(webhook_parked_events{${EVENTS}})`,
        },
      },
      {
        title: 'Disabled and changed webhooks',
        description: 'Webhooks that were disabled, by reason, and changes by clients and operators.',
        unit: 'ops',
        queries: {
          'disabled: {{reason}}': `sum by (reason) (rate(webhook_disabled_total{${EVENTS}}[${RATE}]))`,
          '{{change}}': `sum by (change) (rate(webhook_changes_total{${EVENTS}}[${RATE}]))`,
        },
        alerts: ['GuildDataWebhooksDisabled'],
      },
    ],
  },
};

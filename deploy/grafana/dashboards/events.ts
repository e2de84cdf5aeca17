import type { DashboardSpec } from '../dashboard.ts';
import { ALL_JOBS, jobOf, quantile, rate, stored } from '../queries.ts';

const EVENTS = jobOf('events');
const GATEWAY = jobOf('gateway');

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
        queries: { '{{outcome}}': rate('events_appended_total', EVENTS, ['outcome']) },
      },
      {
        title: 'Delay until a recorded event is stored',
        description: 'Time from the commit of a change until its event is in the log.',
        unit: 's',
        queries: {
          p50: quantile(0.5, 'events_lag_seconds', EVENTS),
          p95: quantile(0.95, 'events_lag_seconds', EVENTS),
        },
      },
      {
        title: 'Age of the oldest event that waits to be stored',
        description: 'Events that wait in the database of the service that recorded them.',
        unit: 's',
        queries: { '{{job}}': `max by (job) (queue_oldest_seconds{${ALL_JOBS},queue="events"})` },
        alerts: ['GuildDataEventsLate'],
      },
      {
        title: 'Events that wait to be stored',
        description: 'By service; counted up to 10,000.',
        unit: 'short',
        queries: {
          '{{job}}': stored(`queue_items{${ALL_JOBS},queue="events",state="queued"}`, ['job']),
        },
      },
      {
        title: 'Size of the partitioned tables',
        description: 'The size of all partitions of a table. Retention drops whole days.',
        unit: 'bytes',
        queries: { '{{table}}': stored(`events_partitions_bytes{${EVENTS}}`, ['table']) },
      },
      {
        title: 'Daily partitions by table',
        description: 'One partition for each stored day, and some for the coming days.',
        unit: 'short',
        queries: { '{{table}}': stored(`events_partitions{${EVENTS}}`, ['table']) },
      },
    ],
    Readers: [
      {
        title: 'Waiting long polls',
        description: 'Requests that wait for new events, and the limit on them, both summed over all replicas.',
        unit: 'short',
        queries: {
          waiting: `sum(events_waiting_polls{${EVENTS}})`,
          maximum: `sum(events_waiting_polls_max{${EVENTS}})`,
        },
      },
      {
        title: 'Open event streams of clients, by gateway',
        description: 'Streams of server-sent events that each gateway relays to clients.',
        unit: 'short',
        queries: { '{{instance}}': `gateway_event_streams{${GATEWAY}}` },
      },
      {
        title: 'Open event streams, by replica of the events service',
        description: 'Streams that each replica has open to gateways (one for each client) and consoles.',
        unit: 'short',
        queries: { '{{instance}}': `events_open_streams{${EVENTS}}` },
      },
      {
        title: 'Event streams ended by the gateways, by reason',
        description:
          'Ended by the events service (service), connection to it lost (lost), gateway stops (drain), client disconnected (client), API key invalid (key), without the scope or address (permission), or not verifiable (unverified).',
        unit: 'ops',
        queries: { '{{reason}}': rate('gateway_event_stream_ends_total', GATEWAY, ['reason']) },
      },
      {
        title: 'Event streams ended by the events service, by reason',
        description:
          'The process stops (drain); the reader was too far behind (behind); the guild opened more than 20 streams (replaced); the next events are no longer stored (gone); the gateway or the client disconnected (client).',
        unit: 'ops',
        queries: { '{{reason}}': rate('events_stream_ends_total', EVENTS, ['reason']) },
      },
      {
        title: 'Changes that wait for the audit',
        description:
          'Changes by API keys and persons that auth has not yet written into the audit (at most 10,000 are counted), the age of the oldest, and those that auth wrote within the last hour.',
        unit: 'short',
        queries: {
          waiting: stored(`events_audit_entries{${EVENTS}}`),
          'age of the oldest in seconds': `max(events_audit_oldest_seconds{${EVENTS}})`,
          'written in an hour': `sum(increase(auth_audit_entries_fed_total{${jobOf('auth')}}[1h]))`,
        },
        alerts: ['GuildDataAuditLate'],
      },
    ],
    Webhooks: [
      {
        title: 'Delivery attempts by outcome',
        description:
          'Delivered; failed and sent again later (failed); failed at the last attempt (dead); answered with 410 (gone); could not be sent for a reason of this installation, and tried again (not_sent).',
        unit: 'ops',
        queries: { '{{outcome}}': rate('webhook_deliveries_total', EVENTS, ['outcome']) },
        alerts: ['GuildDataWebhooksFailing', 'GuildDataWebhooksNotSent', 'GuildDataWebhookEventsGivenUp'],
      },
      {
        title: 'Time from a change to its delivery',
        description: 'Only events that were delivered at the first attempt.',
        unit: 's',
        queries: {
          p50: quantile(0.5, 'webhook_delivery_delay_seconds', EVENTS),
          p95: quantile(0.95, 'webhook_delivery_delay_seconds', EVENTS),
        },
        alerts: ['GuildDataWebhooksLate'],
      },
      {
        title: 'Duration of delivery attempts',
        description: 'Time until the receiver had responded, or the attempt had failed.',
        unit: 's',
        queries: {
          p50: quantile(0.5, 'webhook_attempt_duration_seconds', EVENTS),
          p99: quantile(0.99, 'webhook_attempt_duration_seconds', EVENTS),
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
        description:
          'Enabled and disabled webhooks; those of the enabled ones that are behind (due), failing, or have too many waiting events (full); and the events that wait for a retry.',
        unit: 'short',
        queries: {
          '{{state}}': stored(`webhook_endpoints{${EVENTS}}`, ['state']),
          'events waiting for a retry': stored(`webhook_parked_events{${EVENTS}}`),
        },
      },
      {
        title: 'Disabled and changed webhooks',
        description: 'Webhooks that were disabled, by reason, and changes by clients and operators.',
        unit: 'ops',
        queries: {
          'disabled: {{reason}}': rate('webhook_disabled_total', EVENTS, ['reason']),
          '{{change}}': rate('webhook_changes_total', EVENTS, ['change']),
        },
        alerts: ['GuildDataWebhooksDisabled'],
      },
    ],
  },
};

import type { DashboardSpec } from '../dashboard.ts';

const GATEWAY = 'namespace=~"$namespace",job="guild-data/gateway"';
const ALL = 'namespace=~"$namespace",job=~"guild-data/.+"';

export const overview: DashboardSpec = {
  name: 'overview',
  title: 'Overview',
  description: 'Service level objectives, traffic, and where the problem is.',
  rows: {
    'Service level objectives': [
      {
        title: 'Error rate, 30 days',
        description:
          'Share of requests with a 5xx response, without routes that call a platform. Objective: at most 0.1 %.',
        unit: 'percentunit',
        stat: { bad: 0.001 },
        queries: {
          Errors:
            'sum(sum_over_time(namespace:guild_data_faults:rate5m{namespace=~"$namespace"}[30d])) / sum(sum_over_time(namespace:guild_data_requests:rate5m{namespace=~"$namespace"}[30d]))',
        },
        alerts: ['GuildDataFaultsBurnFast', 'GuildDataFaultsBurnSlow'],
      },
      {
        title: 'Slow requests, 30 days',
        description: 'Share of requests that took longer than 250 ms, without long polls. Objective: at most 1 %.',
        unit: 'percentunit',
        stat: { bad: 0.01 },
        queries: {
          Slow: 'sum(sum_over_time(namespace:guild_data_slow:rate5m{namespace=~"$namespace"}[30d])) / sum(sum_over_time(namespace:guild_data_timed:rate5m{namespace=~"$namespace"}[30d]))',
        },
        alerts: ['GuildDataSlowBurnFast', 'GuildDataSlowBurnSlow'],
      },
      {
        title: 'Firing alerts',
        description: 'Alerts of Guild Data that are firing now.',
        unit: 'short',
        stat: { bad: 1 },
        queries: {
          Firing: 'count(ALERTS{alertname=~"GuildData.+",alertstate="firing",namespace=~"$namespace"}) or vector(0)',
        },
      },
      {
        title: 'Replicas that cannot be scraped',
        description: 'Replicas whose metrics Prometheus cannot read.',
        unit: 'short',
        stat: { bad: 1 },
        queries: { Missing: `count(up{${ALL}} == 0) or vector(0)` },
        alerts: ['GuildDataServiceDown', 'GuildDataReplicaDown'],
      },
    ],
    Requests: [
      {
        title: 'Requests by status class',
        description:
          'Requests at the gateways by status class; rate-limited requests (429) and requests whose client disconnected before the response are separate.',
        unit: 'reqps',
        queries: {
          '2xx': `sum(rate(http_requests_total{${GATEWAY},code=~"2.."}[$__rate_interval]))`,
          '4xx without 429': `sum(rate(http_requests_total{${GATEWAY},code=~"4..",code!~"429|499"}[$__rate_interval]))`,
          'client disconnected': `sum(rate(http_requests_total{${GATEWAY},code="499"}[$__rate_interval]))`,
          '429': `sum(rate(http_requests_total{${GATEWAY},code="429"}[$__rate_interval]))`,
          '5xx': `sum(rate(http_requests_total{${GATEWAY},code=~"5.."}[$__rate_interval]))`,
        },
      },
      {
        title: 'Error rate and slow requests, 5 minutes',
        description: 'Over five minutes, counted as for the objectives.',
        unit: 'percentunit',
        queries: {
          Errors: 'namespace:guild_data_faults:ratio_rate5m{namespace=~"$namespace"}',
          Slow: 'namespace:guild_data_slow:ratio_rate5m{namespace=~"$namespace"}',
        },
        alerts: ['GuildDataFaultsBurnFast', 'GuildDataSlowBurnFast'],
      },
      {
        title: 'Request latency',
        description: 'At the gateway, of all requests except long polls.',
        unit: 's',
        queries: Object.fromEntries(
          ['0.5', '0.99', '0.999'].map((quantile) => [
            `p${Number(quantile) * 100}`,
            `histogram_quantile(${quantile}, sum by (le) (rate(http_request_duration_seconds_bucket{${GATEWAY},route!~"pollCommands|listEvents"}[$__rate_interval])))`,
          ]),
        ),
      },
    ],
    'Where the problem is': [
      {
        title: '5xx responses by service',
        description: 'Responses with a 5xx status of each service.',
        unit: 'reqps',
        queries: { '{{job}}': `sum by (job) (rate(http_requests_total{${ALL},code=~"5.."}[$__rate_interval]))` },
      },
      {
        title: 'Open circuit breakers',
        description: 'Dependencies that are not called because calls to them kept failing.',
        unit: 'short',
        queries: { '{{job}} → {{dependency}}': `max by (job, dependency) (breaker_open{${ALL}}) > 0` },
        alerts: ['GuildDataBreakerOpen'],
      },
      {
        title: 'Replicas without Redis, key changes, notifications or schema',
        description:
          'Replicas that count rate limits by themselves, receive no key changes, receive no database notifications, or wait for a migration.',
        unit: 'short',
        queries: {
          'rate limits without Redis': `sum(gateway_limiter_degraded{${GATEWAY}})`,
          'no key change stream': `count(gateway_key_stream_alive{${GATEWAY}} == 0)`,
          'no database notifications: {{job}}': `count by (job) (listener_hearing{${ALL}} == 0)`,
          'waits for a migration: {{job}}': `count by (job) (schema_current{${ALL}} == 0)`,
        },
        alerts: ['GuildDataLimiterDegraded', 'GuildDataKeyStreamCut', 'GuildDataListenerDeaf', 'GuildDataSchemaBehind'],
      },
      {
        title: 'Running replicas',
        description: 'Replicas that Prometheus can scrape, by service.',
        unit: 'short',
        queries: { '{{job}}': `sum by (job) (up{${ALL}})` },
        alerts: ['GuildDataServiceDown'],
      },
      {
        title: 'Running versions',
        description: 'Replicas by the version that they run.',
        unit: 'short',
        queries: { '{{version}}': `count by (version) (build_info{${ALL}})` },
        alerts: ['GuildDataVersionsDiffer'],
      },
      {
        title: 'Oldest undelivered ban or mute',
        description:
          'Age of the oldest ban or mute that moderation has not yet delivered to activity, which sends it to game servers.',
        unit: 's',
        queries: {
          oldest: 'max(moderation_outbox_oldest_seconds{namespace=~"$namespace",job="guild-data/moderation"})',
        },
        alerts: ['GuildDataOutboxStuck'],
      },
    ],
  },
};

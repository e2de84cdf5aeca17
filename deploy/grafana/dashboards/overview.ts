import type { DashboardSpec } from '../dashboard.ts';

const GATEWAY = 'namespace=~"$namespace",job="guild-data/gateway"';
const ALL = 'namespace=~"$namespace",job=~"guild-data/.+"';

export const overview: DashboardSpec = {
  name: 'overview',
  title: 'Overview',
  description: 'Whether the promise is kept, what is asked, and which part is the trouble.',
  rows: {
    'The promise': [
      {
        title: 'Faults, 30 days',
        description: 'Share of requests answered with 5xx, without those that ask a platform. Promised: 0.1 %.',
        unit: 'percentunit',
        stat: { bad: 0.001 },
        queries: {
          Faults:
            'sum(sum_over_time(namespace:guild_data_faults:rate5m{namespace=~"$namespace"}[30d])) / sum(sum_over_time(namespace:guild_data_requests:rate5m{namespace=~"$namespace"}[30d]))',
        },
        alerts: ['GuildDataFaultsBurnFast', 'GuildDataFaultsBurnSlow'],
      },
      {
        title: 'Slow answers, 30 days',
        description: 'Share of requests that took longer than 250 ms, without polls. Promised: 1 %.',
        unit: 'percentunit',
        stat: { bad: 0.01 },
        queries: {
          Slow: 'sum(sum_over_time(namespace:guild_data_slow:rate5m{namespace=~"$namespace"}[30d])) / sum(sum_over_time(namespace:guild_data_timed:rate5m{namespace=~"$namespace"}[30d]))',
        },
        alerts: ['GuildDataSlowBurnFast', 'GuildDataSlowBurnSlow'],
      },
      {
        title: 'Alerts',
        description: 'Alerts of Guild Data that fire now.',
        unit: 'short',
        stat: { bad: 1 },
        queries: {
          Firing: 'count(ALERTS{alertname=~"GuildData.+",alertstate="firing",namespace=~"$namespace"}) or vector(0)',
        },
      },
      {
        title: 'Replicas without an answer',
        description: 'Replicas that Prometheus can not scrape.',
        unit: 'short',
        stat: { bad: 1 },
        queries: { Missing: `count(up{${ALL}} == 0) or vector(0)` },
        alerts: ['GuildDataServiceDown', 'GuildDataReplicaDown'],
      },
    ],
    Requests: [
      {
        title: 'Requests',
        description:
          'Requests answered by the gateways, by the first digit of their status; and those whose callers left before an answer.',
        unit: 'reqps',
        queries: {
          '2xx': `sum(rate(http_requests_total{${GATEWAY},code=~"2.."}[$__rate_interval]))`,
          '4xx but 429': `sum(rate(http_requests_total{${GATEWAY},code=~"4..",code!~"429|499"}[$__rate_interval]))`,
          'caller left': `sum(rate(http_requests_total{${GATEWAY},code="499"}[$__rate_interval]))`,
          '429': `sum(rate(http_requests_total{${GATEWAY},code="429"}[$__rate_interval]))`,
          '5xx': `sum(rate(http_requests_total{${GATEWAY},code=~"5.."}[$__rate_interval]))`,
        },
      },
      {
        title: 'Share of faults and of slow answers',
        description: 'Over five minutes, as the promise counts them.',
        unit: 'percentunit',
        queries: {
          Faults: 'namespace:guild_data_faults:ratio_rate5m{namespace=~"$namespace"}',
          Slow: 'namespace:guild_data_slow:ratio_rate5m{namespace=~"$namespace"}',
        },
        alerts: ['GuildDataFaultsBurnFast', 'GuildDataSlowBurnFast'],
      },
      {
        title: 'Time to answer',
        description: 'Of all requests but polls, at the gateway.',
        unit: 's',
        queries: Object.fromEntries(
          ['0.5', '0.99', '0.999'].map((quantile) => [
            `p${Number(quantile) * 100}`,
            `histogram_quantile(${quantile}, sum by (le) (rate(http_request_duration_seconds_bucket{${GATEWAY},route!="pollCommands"}[$__rate_interval])))`,
          ]),
        ),
      },
    ],
    'Where the trouble is': [
      {
        title: 'Faults by service',
        description: 'What each service answered with 5xx.',
        unit: 'reqps',
        queries: { '{{job}}': `sum by (job) (rate(http_requests_total{${ALL},code=~"5.."}[$__rate_interval]))` },
      },
      {
        title: 'Open breakers',
        description: 'Dependencies that are not called since calls kept failing.',
        unit: 'short',
        queries: { '{{job}} → {{dependency}}': `max by (job, dependency) (breaker_open{${ALL}}) > 0` },
        alerts: ['GuildDataBreakerOpen'],
      },
      {
        title: 'What works with less',
        description: 'Replicas that count limits alone, hear no changes of keys, or do not hear the database.',
        unit: 'short',
        queries: {
          'limits counted alone': `sum(gateway_limiter_degraded{${GATEWAY}})`,
          'no changes of keys': `count(gateway_key_stream_alive{${GATEWAY}} == 0)`,
          'deaf: {{job}}': `count by (job) (listener_hearing{${ALL}} == 0)`,
          'waits for a migration: {{job}}': `count by (job) (schema_current{${ALL}} == 0)`,
        },
        alerts: ['GuildDataLimiterDegraded', 'GuildDataKeyStreamCut', 'GuildDataListenerDeaf', 'GuildDataSchemaBehind'],
      },
      {
        title: 'Replicas',
        description: 'Replicas that answer, by service.',
        unit: 'short',
        queries: { '{{job}}': `sum by (job) (up{${ALL}})` },
        alerts: ['GuildDataServiceDown'],
      },
      {
        title: 'Versions',
        description: 'Replicas by the version that they run.',
        unit: 'short',
        queries: { '{{version}}': `count by (version) (build_info{${ALL}})` },
        alerts: ['GuildDataVersionsDiffer'],
      },
      {
        title: 'Decisions on their way to game servers',
        description: 'For how long the oldest ban or mute has waited to be told to activity.',
        unit: 's',
        queries: {
          oldest: 'max(moderation_outbox_oldest_seconds{namespace=~"$namespace",job="guild-data/moderation"})',
        },
        alerts: ['GuildDataOutboxStuck'],
      },
    ],
  },
};

import type { DashboardSpec } from '../dashboard.ts';

const GATEWAY = 'namespace=~"$namespace",job="guild-data/gateway"';
const quantile = (share: number, metric: string, by = 'le') =>
  `histogram_quantile(${share}, sum by (${by}) (rate(${metric}_bucket{${GATEWAY}}[$__rate_interval])))`;

export const gateway: DashboardSpec = {
  name: 'gateway',
  title: 'Gateway',
  description: 'What the gateways are asked, what they refuse, and what they add.',
  rows: {
    Routes: [
      {
        title: 'Requests by route',
        description: 'The twenty routes that are asked most; `none` is what matched no route.',
        unit: 'reqps',
        queries: { '{{route}}': `topk(20, sum by (route) (rate(http_requests_total{${GATEWAY}}[$__rate_interval])))` },
      },
      {
        title: 'p99 by route',
        description: 'Time to answer; of polls it holds what they waited.',
        unit: 's',
        queries: { '{{route}}': quantile(0.99, 'http_request_duration_seconds', 'le, route') },
        alerts: ['GuildDataSlowBurnFast'],
      },
      {
        title: 'Faults by route',
        description: 'Answers with 5xx.',
        unit: 'reqps',
        queries: {
          '{{route}} {{code}}': `sum by (route, code) (rate(http_requests_total{${GATEWAY},code=~"5.."}[$__rate_interval]))`,
        },
        alerts: ['GuildDataFaultsBurnFast'],
      },
    ],
    Load: [
      {
        title: 'Added by the gateway',
        description: 'Time to answer less the time of the service.',
        unit: 's',
        queries: { p50: quantile(0.5, 'gateway_overhead_seconds'), p99: quantile(0.99, 'gateway_overhead_seconds') },
      },
      {
        title: 'Requests in flight',
        description: 'Requests in flight in each gateway as a share of its limit, without waiting polls and uploads.',
        unit: 'percentunit',
        max: 1,
        queries: {
          '{{instance}}': `gateway_in_flight_requests{${GATEWAY}} / gateway_in_flight_requests_max{${GATEWAY}}`,
        },
        alerts: ['GuildDataTooManyInFlight'],
      },
      {
        title: 'Busy',
        description: 'Share of time that the event loop of each gateway was busy.',
        unit: 'percentunit',
        max: 1,
        queries: { '{{instance}}': `event_loop_utilisation_ratio{${GATEWAY}}` },
        alerts: ['GuildDataProcessBusy'],
      },
      {
        title: 'Passed on twice',
        description: 'Requests whose connection to a service was lost, so that they were passed on again.',
        unit: 'reqps',
        queries: { '{{upstream}}': `sum by (upstream) (rate(gateway_retries_total{${GATEWAY}}[$__rate_interval]))` },
        alerts: ['GuildDataRetries'],
      },
      {
        title: 'Overload rejections',
        description:
          'Requests rejected with 503 by the limit that was reached: of the whole gateway, or the share of one guild or client address.',
        unit: 'reqps',
        queries: {
          '{{bound}}': `sum by (bound) (rate(gateway_overload_refusals_total{${GATEWAY}}[$__rate_interval]))`,
        },
        alerts: ['GuildDataTooManyInFlight', 'GuildDataOverloadRejections'],
      },
      {
        title: 'Waiting polls and uploads',
        description: 'Polls that wait in a service, and requests whose body is still arriving.',
        unit: 'short',
        queries: {
          polls: `sum(gateway_waiting_polls{${GATEWAY}})`,
          uploads: `sum(gateway_receiving_requests{${GATEWAY}})`,
        },
        alerts: ['GuildDataOverloadRejections'],
      },
      {
        title: 'Client connections',
        description: 'Open connections of clients or of the load balancer, by gateway.',
        unit: 'short',
        queries: { '{{instance}}': `gateway_client_connections{${GATEWAY}}` },
        alerts: ['GuildDataConnectionShares'],
      },
      {
        title: 'Client disconnects',
        description:
          'Connections a second that a gateway closed early: the client did not read, or its address or guild had its share of connections.',
        unit: 'short',
        queries: {
          '{{reason}}': `sum by (reason) (rate(gateway_client_disconnects_total{${GATEWAY}}[$__rate_interval]))`,
        },
        alerts: ['GuildDataConnectionShares'],
      },
    ],
    Keys: [
      {
        title: 'Keys judged',
        description: 'Good keys, and why others were refused.',
        unit: 'reqps',
        queries: { '{{result}}': `sum by (result) (rate(gateway_authentication_total{${GATEWAY}}[$__rate_interval]))` },
      },
      {
        title: 'Look-ups of keys',
        description:
          'Answered from memory (hit, refusal_hit), by auth (miss), or for want of auth (stale, unavailable); and keys in use that are verified again in time.',
        unit: 'reqps',
        queries: {
          '{{outcome}}': `sum by (outcome) (rate(gateway_key_cache_total{${GATEWAY}}[$__rate_interval]))`,
          renewed: `sum(rate(gateway_key_renewals_total{${GATEWAY}}[$__rate_interval]))`,
        },
        alerts: ['GuildDataKeysNotVerified'],
      },
      {
        title: 'Changes of keys',
        description: 'Time from a change until the gateways heard of it. Promised: a second.',
        unit: 's',
        queries: { p99: quantile(0.99, 'gateway_key_change_propagation_seconds') },
        alerts: ['GuildDataKeyPropagationSlow', 'GuildDataKeyStreamCut'],
      },
    ],
    Limits: [
      {
        title: 'Refused for a limit',
        description: 'Requests answered with 429, by category.',
        unit: 'reqps',
        queries: {
          '{{category}}': `sum by (category) (rate(gateway_limit_decisions_total{${GATEWAY},decision="refused"}[$__rate_interval]))`,
        },
      },
      {
        title: 'How limits were decided',
        description: 'By Redis (exact), or by a gateway alone (degraded).',
        unit: 'reqps',
        queries: { '{{mode}}': `sum by (mode) (rate(gateway_limit_decisions_total{${GATEWAY}}[$__rate_interval]))` },
        alerts: ['GuildDataLimiterDegraded'],
      },
      {
        title: 'Gateways without Redis',
        description: 'Gateways that count limits alone now.',
        unit: 'short',
        queries: { gateways: `sum(gateway_limiter_degraded{${GATEWAY}})` },
        alerts: ['GuildDataLimiterDegraded'],
      },
    ],
  },
};

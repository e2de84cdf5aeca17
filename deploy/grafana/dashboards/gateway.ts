import type { DashboardSpec } from '../dashboard.ts';
import { jobOf, LIMITERS_WITHOUT_REDIS, quantile, rate } from '../queries.ts';

const GATEWAY = jobOf('gateway');

export const gateway: DashboardSpec = {
  name: 'gateway',
  title: 'Gateway',
  description: 'Request rates, errors, added latency, authentication and rate limits at the gateways.',
  rows: {
    Routes: [
      {
        title: 'Requests by route',
        description: 'The twenty routes with the most requests; `none` counts requests that matched no route.',
        unit: 'reqps',
        queries: { '{{route}}': `topk(20, ${rate('http_requests_total', GATEWAY, ['route'])})` },
      },
      {
        title: 'Request latency by route, p99',
        description:
          'Time until the response was written, without rejected requests and those whose client disconnected; for long polls this includes the time that they waited.',
        unit: 's',
        queries: { '{{route}}': quantile(0.99, 'http_request_duration_seconds', GATEWAY, ['route']) },
        alerts: ['GuildDataSlowBurnFast'],
      },
      {
        title: '5xx responses by route',
        description: 'Responses with a 5xx status, by route and status.',
        unit: 'reqps',
        queries: {
          '{{route}} {{code}}': rate('http_requests_total', `${GATEWAY},code=~"5.."`, ['route', 'code']),
        },
        alerts: ['GuildDataFaultsBurnFast', 'GuildDataInternalErrors'],
      },
    ],
    Load: [
      {
        title: 'Latency added by the gateway',
        description: 'Request latency at the gateway minus the time that the service took.',
        unit: 's',
        queries: {
          p50: quantile(0.5, 'gateway_overhead_seconds', GATEWAY),
          p99: quantile(0.99, 'gateway_overhead_seconds', GATEWAY),
        },
      },
      {
        title: 'Requests in flight',
        description:
          'Requests in flight in each gateway as a share of MAX_IN_FLIGHT, without waiting polls and requests whose body is still arriving.',
        unit: 'percentunit',
        max: 1,
        queries: {
          '{{instance}}': `gateway_in_flight_requests{${GATEWAY}} / gateway_in_flight_requests_max{${GATEWAY}}`,
        },
        alerts: ['GuildDataTooManyInFlight'],
      },
      {
        title: 'Event loop utilization by gateway',
        description:
          'Share of time that the event loop of each gateway was busy; near 1 the gateway needs more replicas.',
        unit: 'percentunit',
        max: 1,
        queries: { '{{instance}}': `event_loop_utilisation_ratio{${GATEWAY}}` },
        alerts: ['GuildDataProcessBusy'],
      },
      {
        title: 'Upstream retries',
        description: 'Requests that the gateway sent a second time because the connection to the service was lost.',
        unit: 'reqps',
        queries: { '{{upstream}}': rate('gateway_retries_total', GATEWAY, ['upstream']) },
        alerts: ['GuildDataRetries'],
      },
      {
        title: 'Overload rejections',
        description:
          'Requests rejected with 503, by the limit that was reached: that of the whole gateway, or the share of one guild or client address.',
        unit: 'reqps',
        queries: {
          '{{bound}}': rate('gateway_overload_rejections_total', GATEWAY, ['bound']),
        },
        alerts: ['GuildDataTooManyInFlight', 'GuildDataOverloadRejections'],
      },
      {
        title: 'Waiting long polls, event streams and uploads',
        description: 'Long polls that wait and open streams of events, and requests whose body is still arriving.',
        unit: 'short',
        queries: {
          'polls and streams': `sum(gateway_waiting_polls{${GATEWAY}})`,
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
        title: 'Client connections closed by the gateway',
        description:
          'Connections that a gateway closed early: the client did not read its response, or its address or guild had used up its share of connections.',
        unit: 'ops',
        queries: {
          '{{reason}}': rate('gateway_client_disconnects_total', GATEWAY, ['reason']),
        },
        alerts: ['GuildDataConnectionShares'],
      },
    ],
    Keys: [
      {
        title: 'API key authentication results',
        description: 'Accepted keys, and rejected keys by reason.',
        unit: 'reqps',
        queries: { '{{result}}': rate('gateway_authentication_total', GATEWAY, ['result']) },
      },
      {
        title: 'API key cache lookups',
        description:
          'Found in the cache (hit, rejection_hit), verified by auth (miss), or auth could not be reached (stale: served from the cache, unavailable: rejected with 503); and cached keys that were renewed before they expired.',
        unit: 'reqps',
        queries: {
          '{{outcome}}': rate('gateway_key_cache_total', GATEWAY, ['outcome']),
          renewed: rate('gateway_key_renewals_total', GATEWAY),
        },
        alerts: ['GuildDataKeysNotVerified'],
      },
      {
        title: 'API key change propagation, p99',
        description: 'Time from a change of a key until the gateways received it. Objective: one second.',
        unit: 's',
        queries: { p99: quantile(0.99, 'gateway_key_change_propagation_seconds', GATEWAY) },
        alerts: ['GuildDataKeyPropagationSlow', 'GuildDataKeyChangesNotReceived'],
      },
    ],
    Limits: [
      {
        title: 'Rate-limited requests (429)',
        description:
          'Requests above a rate limit of their guild or API key, by category. 429 after too many failed authentications is not included.',
        unit: 'reqps',
        queries: {
          '{{category}}': rate('gateway_limit_decisions_total', `${GATEWAY},decision="rejected"`, ['category']),
        },
      },
      {
        title: 'Rate limit decisions with Redis (exact) and without (degraded)',
        description:
          'Decided by Redis (exact), or by one gateway from its own counters while Redis is unavailable (degraded).',
        unit: 'reqps',
        queries: { '{{mode}}': rate('gateway_limit_decisions_total', GATEWAY, ['mode']) },
        alerts: ['GuildDataLimiterDegraded'],
      },
      {
        title: 'Gateways and consoles that count rate limits without Redis',
        description:
          'Gateways and consoles that count requests by themselves because Redis is unavailable, without those that have no REDIS_URL.',
        unit: 'short',
        queries: { replicas: LIMITERS_WITHOUT_REDIS },
        alerts: ['GuildDataLimiterDegraded'],
      },
    ],
  },
};

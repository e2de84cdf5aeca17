import type { DashboardSpec, PanelSpec } from '../dashboard.ts';
import { ALL_JOBS as ALL, BEHIND_GATEWAY, INSTALLATION, jobOf, LIMITERS_WITHOUT_REDIS, rate } from '../queries.ts';

const GATEWAY = jobOf('gateway');

/** The share of requests that may fail, or be slow, within 30 days (deploy/prometheus/README.md). */
const OBJECTIVES = { faults: 0.001, slow: 0.01 };
type Objective = keyof typeof OBJECTIVES;
const RETENTION = 'Prometheus keeps 15 days by default: with less than 30 days of retention, over what it has.';

/** The rule is evaluated every five minutes, after which Prometheus would no longer show its value. */
const budgetLeft = (objective: Objective) =>
  `last_over_time(release:guild_data_${objective}:budget_left30d{${INSTALLATION}}[10m])`;

const ratioOver = (objective: Objective, window: string) =>
  `release:guild_data_${objective}:ratio_rate${window}{${INSTALLATION}}`;

/** A number about the 30 days of an objective, of the release with the smallest budget left. */
const budgetStats = (objective: Objective, name: string): PanelSpec[] => [
  {
    title: `Error budget left, 30 days: ${name}`,
    description: `Share of the ${name} that the objective allows in 30 days and that have not occurred, of the release with the least; negative if the objective is missed. ${RETENTION}`,
    unit: 'percentunit',
    min: 'none',
    stat: { bad: 0.1, lessIsWorse: true },
    queries: { left: `min(${budgetLeft(objective)})` },
    alerts: objective === 'faults' ? ['GuildDataFaultsBurnSlow'] : ['GuildDataSlowBurnSlow'],
  },
  {
    title: `Share of requests, 30 days: ${name}`,
    description: `Share of the requests of 30 days that were ${name}, of the release with the highest share. Objective: at most ${OBJECTIVES[objective] * 100} %. ${RETENTION}`,
    unit: 'percentunit',
    stat: { bad: OBJECTIVES[objective] },
    queries: { share: `max(1 - ${budgetLeft(objective)}) * ${OBJECTIVES[objective]}` },
    alerts:
      objective === 'faults'
        ? ['GuildDataFaultsBurnFast', 'GuildDataFaultsBurnSlow']
        : ['GuildDataSlowBurnFast', 'GuildDataSlowBurnSlow'],
  },
];

const burnRate = (objective: Objective, name: string): PanelSpec => ({
  title: `Burn rate of the error budget: ${name}`,
  description:
    'How many times faster than allowed the error budget is consumed, over one hour to three days; each line shows the release with the highest rate. At 1 a budget lasts 30 days, at 6 five days, at 14.4 two days.',
  unit: 'short',
  queries: Object.fromEntries(
    ['1h', '6h', '1d', '3d'].map((window) => [
      window,
      `max(${ratioOver(objective, window)}) / ${OBJECTIVES[objective]}`,
    ]),
  ),
  alerts:
    objective === 'faults'
      ? ['GuildDataFaultsBurnFast', 'GuildDataFaultsBurnSlow']
      : ['GuildDataSlowBurnFast', 'GuildDataSlowBurnSlow'],
});

export const overview: DashboardSpec = {
  name: 'overview',
  title: 'Overview',
  description: 'Service level objectives, traffic, and where the problem is.',
  rows: {
    'Service level objectives': [
      ...budgetStats('faults', 'errors (5xx)'),
      ...budgetStats('slow', 'slow requests'),
      {
        title: 'Firing alerts',
        description: 'Alerts of Guild Data that are firing now; an alert about several replicas of a release is one.',
        unit: 'short',
        stat: { bad: 1 },
        queries: {
          Firing: `count(group by (cluster, namespace, release, alertname) (ALERTS{alertname=~"GuildData.+",alertstate="firing",${INSTALLATION}})) or vector(0)`,
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
    'Error budget': [
      {
        title: 'Error budget left, 30 days',
        description: `How the error budgets of 30 days were consumed; below 0 the objective is missed. ${RETENTION}`,
        unit: 'percentunit',
        min: 'none',
        max: 1,
        queries: {
          'errors {{cluster}} {{namespace}}/{{release}}': budgetLeft('faults'),
          'slow {{cluster}} {{namespace}}/{{release}}': budgetLeft('slow'),
        },
        alerts: ['GuildDataFaultsBurnSlow', 'GuildDataSlowBurnSlow'],
      },
      burnRate('faults', 'errors (5xx)'),
      burnRate('slow', 'slow requests'),
    ],
    Requests: [
      {
        title: 'Requests by status class',
        dashboards: ['gateway'],
        description:
          'Requests at the gateways by status class; rate-limited requests (429) and requests whose client disconnected before the response are separate.',
        unit: 'reqps',
        queries: {
          '2xx': rate('http_requests_total', `${GATEWAY},code=~"2.."`),
          '4xx without 429': rate('http_requests_total', `${GATEWAY},code=~"4..",code!~"429|499"`),
          'client disconnected': rate('http_requests_total', `${GATEWAY},code="499"`),
          '429': rate('http_requests_total', `${GATEWAY},code="429"`),
          '5xx': rate('http_requests_total', `${GATEWAY},code=~"5.."`),
        },
      },
      {
        title: 'Error rate and slow requests, 5 minutes',
        description:
          'Share of requests with a 5xx response, and of requests slower than 250 ms. Counted as for the objectives: without rejected requests and routes that call a platform; long polls are not counted as slow.',
        unit: 'percentunit',
        queries: {
          'errors {{cluster}} {{namespace}}/{{release}}': ratioOver('faults', '5m'),
          'slow {{cluster}} {{namespace}}/{{release}}': ratioOver('slow', '5m'),
        },
        alerts: ['GuildDataFaultsBurnFast', 'GuildDataSlowBurnFast'],
      },
      {
        title: 'Request latency',
        dashboards: ['gateway'],
        description:
          'At the gateway, of all requests except long polls, rejected ones and those whose client disconnected.',
        unit: 's',
        queries: Object.fromEntries(
          ['0.5', '0.99', '0.999'].map((quantile) => [
            `p${Number(quantile) * 100}`,
            `histogram_quantile(${quantile}, ${rate('http_request_duration_seconds_bucket', `${GATEWAY},route!~"pollCommands|listEvents"`, ['le'])})`,
          ]),
        ),
      },
    ],
    'Where the problem is': [
      {
        title: '5xx responses by service',
        description: 'Responses with a 5xx status of the services behind the gateways and consoles.',
        unit: 'reqps',
        dashboards: ['services'],
        queries: { '{{job}}': rate('http_requests_total', `${ALL},${BEHIND_GATEWAY},code=~"5.."`, ['job']) },
      },
      {
        title: 'Open circuit breakers',
        dashboards: ['services', 'platforms'],
        description: 'Shows 1 for each dependency that a replica does not call because calls to it kept failing.',
        unit: 'short',
        queries: { '{{job}} → {{dependency}}': `max by (job, dependency) (breaker_open{${ALL}}) > 0` },
        alerts: ['GuildDataBreakerOpen'],
      },
      {
        title: 'Replicas without Redis, key changes, notifications or schema, and loops without an owner',
        description:
          'Numbers of replicas that count rate limits without Redis, receive no changes of API keys, no database notifications or no changes over Redis, or wait for a migration; and of background loops that no replica runs.',
        unit: 'short',
        queries: {
          'rate limits without Redis': LIMITERS_WITHOUT_REDIS,
          'no key change stream': `count(gateway_key_stream_alive{${GATEWAY}} == 0)`,
          'no database notifications: {{job}}': `count by (job) (listener_receiving{${ALL}} == 0)`,
          'no changes over Redis: {{job}}': `count by (job) (change_feed_receiving{${ALL},over="redis"} == 0)`,
          'no owner: {{job}} {{loop}}': `count by (job, loop) (max by (cluster, namespace, release, job, loop) (loop_lease_held{${ALL}}) == 0)`,
          'waits for a migration: {{job}}': `count by (job) (schema_current{${ALL}} == 0)`,
        },
        alerts: [
          'GuildDataLimiterDegraded',
          'GuildDataKeyChangesNotReceived',
          'GuildDataNotificationsNotReceived',
          'GuildDataChangesWithoutRedis',
          'GuildDataLoopWithoutOwner',
          'GuildDataSchemaBehind',
        ],
      },
      {
        title: 'Running replicas',
        dashboards: ['services'],
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
          'Age of the oldest ban, mute or lift that the moderation service has not yet delivered to the activity service, which sends it to game servers.',
        unit: 's',
        queries: {
          oldest: `max(moderation_outbox_oldest_seconds{${jobOf('moderation')}})`,
        },
        alerts: ['GuildDataOutboxStuck'],
      },
    ],
  },
};

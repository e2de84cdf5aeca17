import type { DashboardSpec } from '../dashboard.ts';

const JOB = 'namespace=~"$namespace",job=~"$job"';

export const platforms: DashboardSpec = {
  name: 'platforms',
  title: 'Platforms',
  description: 'Calls to the chat and game platforms.',
  jobs: 'guild-data/(bindings|members)',
  rows: {
    Calls: [
      {
        title: 'Calls by host',
        description: 'Calls made to each host of the platforms, by service.',
        unit: 'reqps',
        queries: {
          '{{host}} from {{job}}': `sum by (host, job) (rate(platform_calls_total{${JOB},outcome!="held back"}[$__rate_interval]))`,
        },
      },
      {
        title: 'Share that failed',
        description: 'Answered with 5xx, with nothing readable, or not in five seconds.',
        unit: 'percentunit',
        max: 1,
        queries: {
          '{{host}}': `sum by (host) (rate(platform_calls_total{${JOB},outcome=~"failed|too slow|5.."}[$__rate_interval])) / sum by (host) (rate(platform_calls_total{${JOB},outcome!="held back"}[$__rate_interval]))`,
        },
        alerts: ['GuildDataPlatformFailing'],
      },
      {
        title: 'p99 by host',
        description: 'Time of a call.',
        unit: 's',
        queries: {
          '{{host}}': `histogram_quantile(0.99, sum by (le, host) (rate(platform_call_duration_seconds_bucket{${JOB}}[$__rate_interval])))`,
        },
      },
    ],
    Refusals: [
      {
        title: 'Outcomes',
        description: 'Statuses of the answers, and calls without one.',
        unit: 'reqps',
        queries: {
          '{{host}} {{outcome}}': `sum by (host, outcome) (rate(platform_calls_total{${JOB}}[$__rate_interval]))`,
        },
      },
      {
        title: 'Held back',
        description: 'Calls refused by a platform for their number (429), or not made since it asked for a pause.',
        unit: 'reqps',
        queries: {
          '{{host}} {{outcome}}': `sum by (host, outcome) (rate(platform_calls_total{${JOB},outcome=~"429|held back"}[$__rate_interval]))`,
        },
        alerts: ['GuildDataPlatformHoldsBack'],
      },
      {
        title: 'Open breakers, refused tokens',
        description: 'Hosts that are not called since calls kept failing, and hosts that do not take our token.',
        unit: 'short',
        queries: {
          'breaker of {{dependency}}': `max by (dependency) (breaker_open{${JOB},dependency=~"chat|game-.+"}) > 0`,
          'token refused by {{host}}': `max by (host) (platform_credentials_refused{${JOB}}) > 0`,
        },
        alerts: ['GuildDataPlatformRefusesUs', 'GuildDataPlatformFailing'],
      },
    ],
    'Calls that the chat platform grants': [
      {
        title: 'p99 of the wait for a turn',
        description: 'Time until a call to the chat platform had its turn, for people and for jobs.',
        unit: 's',
        queries: {
          '{{purpose}}': `histogram_quantile(0.99, sum by (le, purpose) (rate(chat_budget_wait_seconds_bucket{${JOB}}[$__rate_interval])))`,
        },
        alerts: ['GuildDataChatBudgetUsedUp'],
      },
      {
        title: 'No turn in time',
        description: 'Calls that were given up, for people and for jobs.',
        unit: 'reqps',
        queries: {
          '{{purpose}}': `sum by (purpose) (rate(chat_budget_refused_total{${JOB}}[$__rate_interval]))`,
        },
        alerts: ['GuildDataChatBudgetUsedUp'],
      },
      {
        title: 'Shares without Redis',
        description: 'Replicas that keep to a share of their own.',
        unit: 'short',
        queries: { '{{job}}': `sum by (job) (chat_budget_degraded{${JOB}})` },
        alerts: ['GuildDataChatBudgetDegraded'],
      },
    ],
    'Calls that the game platform grants': [
      {
        title: 'p99 wait for a call to the game platform',
        description: 'Time until a call had its turn, for requests, for work in the background and for jobs.',
        unit: 's',
        queries: {
          '{{purpose}}': `histogram_quantile(0.99, sum by (le, purpose) (rate(game_budget_wait_seconds_bucket{${JOB}}[$__rate_interval])))`,
        },
        alerts: ['GuildDataGameBudgetUsedUp'],
      },
      {
        title: 'Calls without a turn in time',
        description: 'Calls to the game platform that were not made because the budget was used up.',
        unit: 'reqps',
        queries: {
          '{{purpose}}': `sum by (purpose) (rate(game_budget_refused_total{${JOB}}[$__rate_interval]))`,
          'replicas without Redis': `sum(game_budget_degraded{${JOB}})`,
        },
        alerts: ['GuildDataGameBudgetUsedUp'],
      },
      {
        title: 'Invalid requests in 10 minutes',
        description: 'Calls that the chat platform rejected (401, 403, 429); it bans the address at 10,000.',
        unit: 'short',
        queries: { 'invalid requests': `max(chat_invalid_requests{${JOB}})` },
        alerts: ['GuildDataChatInvalidRequests'],
      },
    ],
    'What waits for the platforms': [
      {
        title: 'Bindings',
        description: 'Roles weighed for members: wanted, not wanted, or not to be known.',
        unit: 'reqps',
        queries: {
          '{{verdict}}': `sum by (verdict) (rate(bindings_role_verdicts_total{namespace=~"$namespace",job="guild-data/bindings"}[$__rate_interval]))`,
        },
      },
      {
        title: 'Names that a platform did not tell',
        description: 'Lists of bindings that went out with a name missing.',
        unit: 'reqps',
        queries: {
          '{{of}}': `sum by (of) (rate(bindings_names_missing_total{namespace=~"$namespace",job="guild-data/bindings"}[$__rate_interval]))`,
        },
      },
      {
        title: 'Roles',
        description: 'Roles given, taken, that failed, and that are tried again later.',
        unit: 'reqps',
        queries: {
          '{{outcome}}': `sum by (outcome) (rate(members_roles_synced_total{namespace=~"$namespace",job="guild-data/members"}[$__rate_interval]))`,
        },
      },
    ],
  },
};

import type { DashboardSpec } from '../dashboard.ts';
import { SELECTED_JOBS as JOB, jobOf, quantile, rate } from '../queries.ts';

export const platforms: DashboardSpec = {
  name: 'platforms',
  title: 'Chat and game platforms',
  description: 'Calls to the chat and game platforms.',
  jobs: 'guild-data/(auth|bindings|gateway|members|moderation)',
  rows: {
    Calls: [
      {
        title: 'Calls to chat and game platforms by host',
        description:
          'Calls to each host of the chat and game platforms, by service, without calls that were not sent because the platform asked for a pause.',
        unit: 'reqps',
        queries: {
          '{{host}} from {{job}}': rate('platform_calls_total', `${JOB},outcome!="held back"`, ['host', 'job']),
        },
      },
      {
        title: 'Failed calls to chat and game platforms, share',
        description: 'Share of calls with a 5xx response, an unreadable response, or none within five seconds.',
        unit: 'percentunit',
        max: 1,
        queries: {
          '{{host}}': `${rate('platform_calls_total', `${JOB},outcome=~"failed|too slow|5.."`, ['host'])} / ${rate('platform_calls_total', `${JOB},outcome!="held back"`, ['host'])}`,
        },
        alerts: ['GuildDataPlatformFailing'],
      },
      {
        title: 'Latency of calls to chat and game platforms by host, p99',
        description: 'Time until the platform had responded.',
        unit: 's',
        queries: {
          '{{host}}': quantile(0.99, 'platform_call_duration_seconds', JOB, ['host']),
        },
      },
    ],
    Rejections: [
      {
        title: 'Calls to chat and game platforms by outcome',
        description:
          'Status of the response; no usable response (failed); none in time (too slow); or not sent, because the platform had requested a pause after a 429 (held back).',
        unit: 'reqps',
        queries: {
          '{{host}} {{outcome}}': rate('platform_calls_total', JOB, ['host', 'outcome']),
        },
      },
      {
        title: 'Calls to chat and game platforms rate-limited (429) or paused',
        description:
          'Calls that a platform rejected with 429, and calls that were not made because it had requested a pause.',
        unit: 'reqps',
        queries: {
          '{{host}} {{outcome}}': rate('platform_calls_total', `${JOB},outcome=~"429|held back"`, ['host', 'outcome']),
        },
        alerts: ['GuildDataPlatformLimitsCalls'],
      },
      {
        title: 'Open circuit breakers and rejected platform credentials',
        description:
          'Shows 1 for each host that a replica does not call because calls kept failing, and for each host that rejects our token or API key with 401.',
        unit: 'short',
        queries: {
          'circuit breaker of {{dependency}}': `max by (dependency) (breaker_open{${JOB},dependency=~"chat|chat-.+|oidc|game-.+"}) > 0`,
          'credentials rejected by {{host}}': `max by (host) (platform_credentials_rejected{${JOB}}) > 0`,
        },
        alerts: ['GuildDataPlatformRejectsCredentials', 'GuildDataPlatformFailing'],
      },
    ],
    'Our own rate limit of calls to the chat platform (call budget)': [
      {
        title: 'Time calls to the chat platform wait for our own rate limit, p99',
        description:
          'Time that a call waited for our own limit of calls to the chat platform, which all replicas share; by purpose: requests, background work and jobs.',
        unit: 's',
        queries: {
          '{{purpose}}': quantile(0.99, 'chat_budget_wait_seconds', JOB, ['purpose']),
        },
        alerts: ['GuildDataChatBudgetUsedUp'],
      },
      {
        title: 'Calls to the chat platform rejected by our own rate limit',
        description: 'Calls that were not made because the call budget did not allow them in time, by purpose.',
        unit: 'reqps',
        queries: {
          '{{purpose}}': rate('chat_budget_rejected_total', JOB, ['purpose']),
        },
        alerts: ['GuildDataChatBudgetUsedUp'],
      },
      {
        title: 'Replicas with a fixed share of our chat platform rate limit (no Redis)',
        description:
          'Replicas that use a fixed share of the call budget (our own rate limit) because Redis is unavailable or not configured.',
        unit: 'short',
        queries: { '{{job}}': `sum by (job) (chat_budget_degraded{${JOB}})` },
        alerts: ['GuildDataChatBudgetDegraded'],
      },
      {
        title: 'Invalid requests to the chat platform, 10 minutes',
        description:
          'Calls with one bot token that the chat platform rejected with 401, 403 or 429 within 10 minutes, of the installation with the most. At 9,000 we stop calling it; at 10,000 it would ban our address.',
        unit: 'short',
        queries: { 'invalid requests': `max(chat_invalid_requests{${JOB}})` },
        alerts: ['GuildDataChatInvalidRequests'],
      },
    ],
    'Bans on the game platform': [
      {
        title: 'Bans mirrored to the game platform',
        description:
          'Comparisons of a ban with its restriction on the game platform, by result: equal already (agree), difference that ends by itself (wait), restriction changed (restrict, release), or ban changed (import, lift). Also differences that a comparison of all bans found unexpectedly, universes to which the bans of another guild are already mirrored, and readings of the changes in a universe by outcome.',
        unit: 'ops',
        queries: {
          '{{step}}': rate('moderation_mirror_steps_total', jobOf('moderation'), ['step']),
          'unexpected differences': rate('moderation_mirror_drift_total', jobOf('moderation'), []),
          'universes used twice': rate('moderation_mirror_conflicts_total', jobOf('moderation'), []),
          'reading {{outcome}}': rate('moderation_mirror_checks_total', jobOf('moderation'), ['outcome']),
        },
        alerts: ['GuildDataBansNotMirrored', 'GuildDataBanDrift'],
      },
    ],
    'Our own rate limit of calls to the game platform (call budget)': [
      {
        title: 'Time calls to the game platform wait for our own rate limit, p99',
        description:
          'Time that a call waited for our own limit of calls to the game platform, which all replicas share; by purpose: requests, background work and jobs.',
        unit: 's',
        queries: {
          '{{purpose}}': quantile(0.99, 'game_budget_wait_seconds', JOB, ['purpose']),
        },
        alerts: ['GuildDataGameBudgetUsedUp'],
      },
      {
        title: 'Calls to the game platform rejected by our own rate limit',
        description: 'Calls that were not made because the call budget did not allow them in time, by purpose.',
        unit: 'reqps',
        queries: {
          '{{purpose}}': rate('game_budget_rejected_total', JOB, ['purpose']),
        },
        alerts: ['GuildDataGameBudgetUsedUp'],
      },
      {
        title: 'Replicas with a fixed share of our game platform rate limit (no Redis)',
        description:
          'Replicas that use a fixed share of the call budget (our own rate limit) because Redis is unavailable or not configured.',
        unit: 'short',
        queries: { '{{job}}': `sum by (job) (game_budget_degraded{${JOB}})` },
      },
    ],
    "Mirror and the chat platform's websocket": [
      {
        title: 'Reads of members and guilds of the chat platform by source',
        description:
          'Reads answered from the mirror (our copy in the database), by a call to the platform, or from an old row of the mirror because the platform could not be called in time.',
        unit: 'reqps',
        queries: {
          '{{source}}': rate('members_mirror_reads_total', jobOf('members'), ['source']),
        },
      },
      {
        title: 'Reported joins, leaves and role changes',
        description:
          'Changes of members that the chat platform reported, by what became of them. They are dropped above 5,000 an hour in a guild.',
        unit: 'ops',
        queries: {
          '{{result}}': rate('members_reported_changes_total', jobOf('members'), ['result']),
        },
      },
      {
        title: "Shards of the chat platform's websocket",
        description:
          'Shards that the replicas own, those of them that are connected and up to date (live), and the age in seconds of the oldest received event that is not stored yet, of the replica with the oldest.',
        unit: 'short',
        queries: {
          owned: `sum(members_chat_gateway_shards{${jobOf('members')}})`,
          live: `sum(members_chat_gateway_shards_live{${jobOf('members')}})`,
          'seconds behind': `max(members_chat_gateway_lag_seconds{${jobOf('members')}})`,
        },
        alerts: ['GuildDataChatGatewayDown'],
      },
      {
        title: "Events and connections of the chat platform's websocket",
        description:
          'Events that were stored, or skipped because they could not be read or stored; sessions that were begun or resumed; and connections that were lost, or rejected by the platform.',
        unit: 'ops',
        queries: {
          'events {{outcome}}': rate('members_chat_gateway_events_total', jobOf('members'), ['outcome']),
          'sessions {{start}}': rate('members_chat_gateway_sessions_total', jobOf('members'), ['start']),
          'connections {{kind}}': rate('members_chat_gateway_disconnects_total', jobOf('members'), ['kind']),
        },
      },
    ],
    'Work that depends on the platforms': [
      {
        title: 'Evaluated role bindings',
        description:
          'Role bindings evaluated for members, by verdict: the member should have the role, should not have it, or it is unknown because a platform did not respond.',
        unit: 'reqps',
        queries: {
          '{{verdict}}': rate('bindings_role_verdicts_total', jobOf('bindings'), ['verdict']),
        },
      },
      {
        title: 'Role and group names that could not be loaded',
        description:
          'Names of roles and groups that were missing in lists of bindings because a platform did not return them.',
        unit: 'reqps',
        queries: {
          '{{of}}': rate('bindings_names_missing_total', jobOf('bindings'), ['of']),
        },
      },
      {
        title: 'Role changes on the chat platform',
        description: 'Roles that were assigned (given) or removed (taken), and changes that failed (failed).',
        unit: 'ops',
        queries: {
          '{{outcome}}': rate('members_roles_synced_total', jobOf('members'), ['outcome']),
        },
      },
    ],
    'Slash commands': [
      {
        title: 'Slash commands received',
        description:
          'Requests to /interactions, by result. The chat platform itself sometimes sends a wrong signature, to test that we reject it.',
        unit: 'reqps',
        queries: {
          '{{result}}': rate('gateway_interactions_total', jobOf('gateway'), ['result']),
        },
        alerts: ['GuildDataSlashCommandsFailing'],
      },
      {
        title: 'Slash commands carried out',
        description:
          'Slash commands that ended, by command and outcome: answered, rejected (the response says why), failed (a service was down for a minute), or expired (the chat platform no longer accepts a response).',
        unit: 'ops',
        queries: {
          '/{{command}} {{outcome}}': rate('auth_interactions_total', jobOf('auth'), ['command', 'outcome']),
        },
        alerts: ['GuildDataSlashCommandsFailing'],
      },
      {
        title: 'Wait before a slash command is carried out, p99',
        description: 'Time from accepting a slash command until its last attempt began.',
        unit: 's',
        queries: { p99: quantile(0.99, 'auth_interaction_wait_seconds', jobOf('auth')) },
      },
    ],
  },
};

import type { PanelSpec } from './dashboard.ts';
import { jobOf, quantile, rate, stored } from './queries.ts';

const AUTH = jobOf('auth');
const MODERATION = jobOf('moderation');
const MEMBERS = jobOf('members');

/** Bans, mutes, roles and links of persons, and what operators did. */
export const personPanels: PanelSpec[] = [
  {
    title: 'Bans and mutes',
    description:
      'Bans, mutes and their lifting by action, those that were rejected, and attempts to deliver them to the activity service by outcome.',
    unit: 'ops',
    queries: {
      '{{action}}': rate('moderation_decisions_total', MODERATION, ['action']),
      'delivery {{outcome}}': rate('moderation_deliveries_total', MODERATION, ['outcome']),
    },
    alerts: ['GuildDataOutboxStuck'],
  },
  {
    title: 'Mutes mirrored to the chat platform',
    description:
      'Comparisons of a mute with the timeout on the chat platform, by what made both equal, or why nothing could be done.',
    unit: 'reqps',
    queries: { '{{outcome}}': rate('moderation_timeout_comparisons_total', MODERATION, ['outcome']) },
  },
  {
    title: 'Ban and mute status checks',
    description: 'Players whose bans and mutes were checked, from the cache or from the database.',
    unit: 'reqps',
    queries: { '{{source}}': rate('moderation_checks_total', MODERATION, ['source']) },
  },
  {
    title: 'Lookups of links',
    description: 'Users whom clients looked up, from the cache or from the database.',
    unit: 'reqps',
    queries: { '{{source}}': rate('lookup_lookups_total', jobOf('lookup'), ['source']) },
  },
  {
    title: 'Role updates of members',
    description:
      'Role updates after a change of link, membership or rank: waiting or in flight (queued) and no longer retried (dead), each counted up to 10,000; age of the oldest unfinished one; attempts per minute; and time from the change to the end of the update.',
    unit: 'short',
    queries: {
      '{{state}}': stored(`members_role_tasks{${MEMBERS}}`, ['state']),
      'oldest task, minutes': `max(members_role_task_oldest_queued_seconds{${MEMBERS}}) / 60`,
      'attempts per minute, {{outcome}}': `60 * ${rate('members_role_task_attempts_total', MEMBERS, ['outcome'])}`,
      'p95 in seconds, {{cause}}': quantile(0.95, 'members_role_task_duration_seconds', MEMBERS, ['cause']),
    },
    alerts: ['GuildDataRoleTasksDead', 'GuildDataRoleTasksLate'],
  },
  {
    title: 'Polls for changes of rank',
    description:
      'Members whose ranks were read per minute, by outcome; the calls to the game platform, estimated as one for 50 members; and the delay, in minutes, of the guild whose poll is due longest.',
    unit: 'short',
    queries: {
      'members per minute, {{outcome}}': `60 * ${rate('members_rank_poll_members_total', MEMBERS, ['outcome'])}`,
      'calls per minute': `60 / 50 * ${rate('members_rank_poll_members_total', MEMBERS)}`,
      'late, minutes': `max(queue_oldest_seconds{${MEMBERS},queue="rank-polls"}) / 60`,
    },
  },
  {
    title: 'Link and role changes',
    description:
      'Created and removed links, roles that were assigned or removed, and linked accounts that were invited or joined on the page of the console, by outcome.',
    unit: 'reqps',
    queries: {
      '{{kind}} {{outcome}}': rate('members_link_changes_total', MEMBERS, ['kind', 'outcome']),
      'roles {{outcome}}': rate('members_roles_synced_total', MEMBERS, ['outcome']),
      'invites {{outcome}}': rate('members_role_invites_total', MEMBERS, ['outcome']),
      'joins {{outcome}}': rate('members_oauth_joins_total', MEMBERS, ['outcome']),
    },
  },
  {
    title: 'Operator calls and audit checks',
    description:
      'Within the last hour: calls by operators that change data of another service, and those rejected because of the role; and audit chains that the hourly check signed or found broken.',
    unit: 'short',
    queries: {
      'calls {{result}}': `sum by (result) (increase(auth_operator_calls_total{${AUTH}}[1h]))`,
      'audit chains signed': `sum(increase(auth_audit_chains_total{${AUTH},result="signed"}[1h]))`,
      // A chain is signed once, but every replica finds that it is broken.
      'audit chains broken': stored(`increase(auth_audit_chains_total{${AUTH},result="broken"}[1h])`),
    },
    alerts: ['GuildDataAuditBroken'],
  },
];

import { eventErasureRules } from '#kit/events/relay.ts';
import type { ErasureRule, UserColumn } from '#kit/personal-data/erasure-rules.ts';

const SHOWN = `jsonb_build_object('at', at, 'service', service, 'action', action, 'details', details)`;
const inAudit = (column: string, account: UserColumn['account']): UserColumn => ({
  column,
  account,
  empty: { details: 'NULL' },
  shows: SHOWN,
});

/** The rows that are erased with a guild, and with a user. API keys contain no data about users. */
export const erasureRules: readonly ErasureRule[] = [
  { table: 'auth.key_secrets', holds: 'other' },
  { table: 'auth.keys', holds: 'keys' },
  {
    table: 'auth.audit',
    holds: 'audit_entries',
    // An erased audit entry keeps the operator, the action and the time. Its other details are erased, except in
    // entries about erasures, which are kept in full.
    keptRows: `salt IS NULL OR action IN ('erase_guild', 'erase_user', 'EraseGuild', 'EraseUser')`,
    users: [
      inAudit('game_id', 'game'),
      inAudit('chat_id', 'chat'),
      ...(['chat', 'game'] as const).map((account) => ({
        ...inAudit('persons', account),
        matches: `persons @> ARRAY['${account}:' || $user]`,
        // The entry may name other persons.
        shows: `jsonb_build_object('at', at, 'service', service, 'action', action)`,
      })),
    ],
    functions: { guild: 'auth.erase_audit_of_guild', user: 'auth.erase_audit_of_user' },
  },
  // The ends of the audit chains and their signatures contain no personal data.
  { table: 'auth.audit_heads', keptRows: 'TRUE' },
  { table: 'auth.audit_checkpoints', keptRows: 'TRUE' },
  // Erased after the keys: reports of requests are added only while the guild has keys.
  { table: 'auth.request_minutes', holds: 'request_counts' },
  { table: 'auth.request_days', holds: 'request_counts' },
  { table: 'auth.request_reporters', belongsToInstallation: true },
  // Sessions belong to a person and to no guild: they end when the person is erased everywhere.
  { table: 'auth.sessions', keptRows: 'TRUE', users: [{ column: 'chat_id', account: 'chat' }] },
  {
    table: 'auth.guild_access',
    holds: 'other',
    users: [
      { column: 'chat_id', account: 'chat' },
      { column: 'given_by', account: 'chat', empty: { given_by: 'NULL' } },
    ],
  },
  { table: 'auth.interactions', holds: 'other', users: [{ column: 'chat_id', account: 'chat' }] },
  { table: 'auth.sign_in_links', holds: 'other' },
  // Sign-ins that have begun: nobody knows yet whose they are. The rows exist for ten minutes.
  { table: 'auth.sign_ins', belongsToInstallation: true },
  { table: 'auth.audit_feed', belongsToInstallation: true },
  ...eventErasureRules('auth'),
  { table: 'auth.operators', belongsToInstallation: true },
  // The table contains the number of the guild's next API key, so that the ID of an erased key is never assigned again.
  { table: 'auth.guilds', keptRows: 'TRUE' },
  { table: 'auth.leases', belongsToInstallation: true },
];

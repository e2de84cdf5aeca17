import { eventErasureRules } from '#kit/events/relay.ts';
import type { ErasureRule, UserColumn } from '#kit/personal-data/erasure-rules.ts';

const byChatId = [{ column: 'chat_id', account: 'chat' }] as const;
const byBoth = [...byChatId, { column: 'game_id', account: 'game' }] as const;

/** The source of events that work done later will record, if it is a person in the console. */
const inSource: UserColumn = {
  column: 'source',
  account: 'chat',
  matches: `source @> jsonb_build_object('kind', 'console', 'id', $user::text)`,
  empty: { source: 'NULL' },
  shows: `jsonb_build_object('source', source)`,
};

/**
 * Columns of synchronisation jobs that can name a user: the errors, the cause of a pause, and the position (a chat ID).
 */
const inJobs: readonly UserColumn[] = [
  inSource,
  {
    column: 'errors',
    account: 'chat',
    matches: `errors @> jsonb_build_array(jsonb_build_object('chat_id', $user::text))`,
    empty: {
      errors: `(SELECT coalesce(jsonb_agg(error), '[]') FROM jsonb_array_elements(errors) AS error
        WHERE error->>'chat_id' IS DISTINCT FROM $user::text)`,
    },
    shows: `jsonb_build_object('errors', (SELECT jsonb_agg(error) FROM jsonb_array_elements(errors) AS error
      WHERE error->>'chat_id' = $user::text))`,
  },
  {
    column: 'cause',
    account: 'chat',
    matches: `cause->>'chat_id' = $user`,
    empty: { cause: `cause || '{"chat_id": null}'` },
  },
  // The position of a running synchronisation job moves on within seconds, so only the positions of finished jobs are
  // erased.
  {
    column: 'position',
    account: 'chat',
    matches: `position = $user AND finished_at IS NOT NULL`,
    empty: { position: `'0'` },
  },
];

/** Columns of previews that can name a user: the named members, and the position (a chat ID). */
const inPreviews: readonly UserColumn[] = [
  {
    column: 'named',
    account: 'chat',
    matches: `named @> jsonb_build_array(jsonb_build_object('chat_id', $user::text))`,
    empty: {
      named: `(SELECT coalesce(jsonb_agg(entry), '[]') FROM jsonb_array_elements(named) AS entry
        WHERE entry->>'chat_id' IS DISTINCT FROM $user::text)`,
    },
    shows: `jsonb_build_object('named', (SELECT jsonb_agg(entry) FROM jsonb_array_elements(named) AS entry
      WHERE entry->>'chat_id' = $user::text))`,
  },
  {
    column: 'position',
    account: 'chat',
    matches: `position = $user AND finished_at IS NOT NULL`,
    empty: { position: `'0'` },
  },
];

/** The rows that are deleted when a guild or a user is erased. Roles on the chat platform are not changed. */
export const erasureRules: readonly ErasureRule[] = [
  { table: 'members.timeout_changes', holds: 'other', users: byChatId },
  { table: 'members.role_tasks', holds: 'other', users: byChatId },
  { table: 'members.role_changes', holds: 'other', users: byChatId },
  { table: 'members.nickname_changes', holds: 'other', users: byChatId },
  { table: 'members.intents', holds: 'other', users: [...byBoth, inSource] },
  { table: 'members.sync_jobs', holds: 'sync_jobs', users: inJobs },
  { table: 'members.binding_previews', holds: 'sync_jobs', users: inPreviews },
  { table: 'members.guild_settings', holds: 'other' },
  { table: 'members.member_reports', holds: 'other' },
  { table: 'members.rank_polls', holds: 'other' },
  { table: 'members.known_ranks', holds: 'other', users: byBoth },
  { table: 'members.verification_tokens', holds: 'verification_tokens', users: byBoth },
  { table: 'members.grants', holds: 'role_grants', users: byChatId },
  { table: 'members.role_invites', holds: 'other', users: byChatId },
  { table: 'members.member_locks', holds: 'other', users: byChatId },
  { table: 'members.mirror_members', holds: 'other', users: byChatId },
  // An unavailable guild is not current, and is read from the chat platform again.
  {
    table: 'members.mirror_guilds',
    holds: 'other',
    users: [{ column: 'owner_id', account: 'chat', empty: { owner_id: 'NULL', is_available: 'false' } }],
  },
  { table: 'members.chat_shards', belongsToInstallation: true },
  ...eventErasureRules('members'),
  // Stored responses are encrypted, so they cannot be searched for a user; they are deleted within a day anyway.
  { table: 'members.idempotency', holds: 'stored_responses' },
  { table: 'members.leases', belongsToInstallation: true },
];

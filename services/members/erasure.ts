import type { ErasureRule, UserColumn } from '#kit/personal-data/erasure-rules.ts';

const byChatId = [{ column: 'chat_id', account: 'chat' }] as const;
const byBoth = [...byChatId, { column: 'game_id', account: 'game' }] as const;

/** Whom a job could not bring in line, and with whom it ended. */
const inJobs: readonly UserColumn[] = [
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
  // Where a job is that still runs is over in seconds.
  {
    column: 'position',
    account: 'chat',
    matches: `position = $user AND finished_at IS NOT NULL`,
    empty: { position: `'0'` },
  },
];

/** What is removed with a guild, and with a user. Roles on the chat platform stay as they are. */
export const erasureRules: readonly ErasureRule[] = [
  { table: 'members.role_tasks', users: byChatId },
  { table: 'members.intents', users: byBoth },
  { table: 'members.sync_jobs', users: inJobs },
  { table: 'members.verification_tokens', users: byBoth },
  { table: 'members.grants', users: byChatId },
  { table: 'members.member_locks', users: byChatId },
  // Encrypted answers, found by what their callers named them; gone within a day.
  { table: 'members.idempotency' },
];

import type { ErasureRule } from '#kit/erasure.ts';

const byChatId = [{ column: 'chat_id', account: 'chat' }] as const;
const byBoth = [...byChatId, { column: 'game_id', account: 'game' }] as const;

/** What is removed with a guild, and with a user. Roles on the chat platform stay as they are. */
export const erasureRules: readonly ErasureRule[] = [
  { table: 'members.role_tasks', users: byChatId },
  { table: 'members.intents', users: byBoth },
  { table: 'members.verification_tokens', users: byBoth },
  { table: 'members.grants', users: byChatId },
  { table: 'members.member_locks', users: byChatId },
  // Encrypted answers, found by what their callers named them; gone within a day.
  { table: 'members.idempotency' },
];

import type { ErasureRule, UserColumn } from '#kit/erasure.ts';

/** A moderator's decisions about others stand without a name. */
const decided: readonly UserColumn[] = [
  { column: 'game_id', account: 'game' },
  { column: 'moderator_game_id', account: 'game', empty: { moderator_game_id: 'NULL' } },
  { column: 'moderator_chat_id', account: 'chat', empty: { moderator_chat_id: 'NULL' } },
];

/** What is removed with a guild, and with a user: whoever is banned no longer is. */
export const erasureRules: readonly ErasureRule[] = [
  // It follows the log, and names nobody itself.
  { table: 'moderation.outbox' },
  { table: 'moderation.punishments', users: decided },
  { table: 'moderation.log', users: decided },
  // Entries for all guilds are no guild's.
  { table: 'moderation.shield', users: [{ column: 'game_id', account: 'game' }] },
  // Encrypted answers, found by what their callers named them; gone within a day.
  { table: 'moderation.idempotency' },
];

import type { ErasureRule, UserColumn } from '#kit/personal-data/erasure-rules.ts';

/**
 * Bans and mutes are found by the log, which has a row of each: an index for it would slow down every status check.
 * So the log comes after them.
 */
const inLog = (column: string) =>
  `${column} = $user AND id IN (SELECT punishment_id FROM moderation.log WHERE guild_id = $1 AND ${column} = $user)`;

/** What names a user in decisions; those of a moderator about others stand without a name. */
const DECISIONS: readonly UserColumn[] = [
  { column: 'game_id', account: 'game' },
  { column: 'moderator_game_id', account: 'game', empty: { moderator_game_id: 'NULL' } },
  { column: 'moderator_chat_id', account: 'chat', empty: { moderator_chat_id: 'NULL' } },
];

/** What is removed with a guild, and with a user: whoever is banned no longer is. */
export const erasureRules: readonly ErasureRule[] = [
  // It follows the log, and names nobody itself.
  { table: 'moderation.outbox' },
  { table: 'moderation.punishments', users: DECISIONS.map((named) => ({ ...named, matches: inLog(named.column) })) },
  { table: 'moderation.log', users: DECISIONS },
  // Entries for all guilds are no guild's.
  { table: 'moderation.shield', users: [{ column: 'game_id', account: 'game' }] },
  // How many records there were; a guild that comes back starts anew.
  { table: 'moderation.counters' },
  // Encrypted answers, found by what their callers named them; gone within a day.
  { table: 'moderation.idempotency' },
];

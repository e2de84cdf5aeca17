import { eventErasureRules } from '#kit/events/relay.ts';
import type { ErasureRule, UserColumn } from '#kit/personal-data/erasure-rules.ts';

/**
 * Returns an SQL condition that finds bans and mutes through the log, which has a row for each. An index on the columns
 * of punishments would slow down every status check. Therefore the log must be erased after the punishments.
 */
const inLog = (column: string) =>
  `${column} = $user AND id IN (SELECT punishment_id FROM moderation.log WHERE guild_id = $1 AND ${column} = $user)`;

/**
 * The columns of decisions that name a user. A decision stays when its moderator is erased, but no longer names the
 * moderator.
 */
const DECISIONS: readonly UserColumn[] = [
  { column: 'game_id', account: 'game' },
  { column: 'moderator_game_id', account: 'game', empty: { moderator_game_id: 'NULL' } },
  { column: 'moderator_chat_id', account: 'chat', empty: { moderator_chat_id: 'NULL' } },
];

/**
 * The rows and fields that are deleted when a guild or a user is erased. Erasing a player also deletes the player's
 * bans.
 */
export const erasureRules: readonly ErasureRule[] = [
  // Outbox rows name no user, and are deleted with their log rows.
  { table: 'moderation.outbox' },
  { table: 'moderation.punishments', users: DECISIONS.map((user) => ({ ...user, matches: inLog(user.column) })) },
  { table: 'moderation.log', users: DECISIONS },
  // Flagged-list entries for all guilds belong to no guild and are not erased with one.
  { table: 'moderation.shield', users: [{ column: 'game_id', account: 'game' }] },
  // The counters table holds each guild's last record number. A guild that returns after its erasure starts with 1
  // again.
  { table: 'moderation.counters' },
  ...eventErasureRules('moderation'),
  // Stored responses are encrypted, under idempotency keys that clients chose; they are deleted within a day.
  { table: 'moderation.idempotency' },
];

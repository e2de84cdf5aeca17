import { eventErasureRules } from '#kit/events/relay.ts';
import type { ErasureRule, UserColumn } from '#kit/personal-data/erasure-rules.ts';

/**
 * Returns an SQL condition that finds the bans and mutes of a user through the moderation log, which has a row for each
 * of them. The table of punishments has no index for this search, because a further index would slow down every status
 * check. The log must therefore be erased after the punishments.
 */
const inLog = (column: string) =>
  `${column} = $user AND id IN (SELECT punishment_id FROM moderation.log WHERE guild_id = $1 AND ${column} = $user)`;

/**
 * The columns of moderation decisions (bans, mutes and their lifting) that name a user. When a moderator is erased, the
 * moderator's decisions stay, but no longer name the moderator.
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
  { table: 'moderation.outbox', holds: 'other' },
  {
    table: 'moderation.punishments',
    holds: 'bans_and_mutes',
    users: DECISIONS.map((user) => ({ ...user, matches: inLog(user.column) })),
  },
  { table: 'moderation.log', holds: 'moderation_log', users: DECISIONS },
  { table: 'moderation.restriction_tasks', holds: 'other', users: [{ column: 'game_id', account: 'game' }] },
  { table: 'moderation.restrictions', holds: 'other', users: [{ column: 'game_id', account: 'game' }] },
  { table: 'moderation.mirrored_universes', holds: 'other', isCopied: true },
  { table: 'moderation.timeout_feed', belongsToInstallation: true },
  { table: 'moderation.timeout_guilds', holds: 'other' },
  { table: 'moderation.timeout_tasks', holds: 'other', users: [{ column: 'game_id', account: 'game' }] },
  {
    table: 'moderation.timeouts',
    holds: 'other',
    users: [
      { column: 'game_id', account: 'game' },
      { column: 'chat_id', account: 'chat' },
    ],
  },
  // Entries of the flagged list that apply to all guilds belong to no guild, and are not erased with one.
  {
    table: 'moderation.shield',
    holds: 'shield_entries',
    users: [{ column: 'game_id', account: 'game' }],
    isCopied: true,
  },
  // The counters table holds the last record ID of each guild. If an erased guild is used again, its IDs start at 1.
  { table: 'moderation.counters', holds: 'other' },
  ...eventErasureRules('moderation'),
  // Stored responses are encrypted, so they cannot be searched for a user; they are deleted within a day anyway.
  { table: 'moderation.idempotency', holds: 'stored_responses' },
  { table: 'moderation.leases', belongsToInstallation: true },
];

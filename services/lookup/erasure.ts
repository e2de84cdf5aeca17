import type { ErasureRule } from '#kit/personal-data/erasure-rules.ts';

/** What is removed with a guild, and with a user. */
export const erasureRules: readonly ErasureRule[] = [
  {
    table: 'lookup.links',
    users: [
      { column: 'chat_id', account: 'chat' },
      { column: 'game_id', account: 'game' },
    ],
  },
  {
    table: 'lookup.link_history',
    users: [
      { column: 'chat_id', account: 'chat' },
      { column: 'game_id', account: 'game' },
    ],
  },
  { table: 'lookup.operations' },
  // A guild's rows add up to its links, so a single one may be above or below 0 when there is no link left.
  {
    table: 'lookup.link_counts',
    guildKeeps: 'EXISTS (SELECT FROM lookup.links WHERE links.guild_id = link_counts.guild_id)',
  },
];

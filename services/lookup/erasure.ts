import type { ErasureRule } from '#kit/personal-data/erasure-rules.ts';

/** The rows that are erased with a guild and with a user. */
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
  // The sum of a guild's rows is the number of its links, so single rows may be above or below 0 when no link is left.
  {
    table: 'lookup.link_counts',
    keptRows: 'EXISTS (SELECT FROM lookup.links WHERE links.guild_id = link_counts.guild_id)',
  },
];

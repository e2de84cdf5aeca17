import type { ErasureRule } from '#kit/erasure-rules.ts';

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
  // Of links that are still there; a count of none goes.
  { table: 'lookup.link_counts', guildKeeps: 'count <> 0' },
];

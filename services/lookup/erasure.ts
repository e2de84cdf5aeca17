import { eventErasureRules } from '#kit/events/relay.ts';
import type { ErasureRule } from '#kit/personal-data/erasure-rules.ts';

/**
 * The rules by which rows of the lookup service are erased with a guild and with a user. An erasure records no
 * `link.removed`, which would name the user again: `person.erased` tells readers of events what to erase.
 */
export const erasureRules: readonly ErasureRule[] = [
  {
    table: 'lookup.links',
    holds: 'links',
    users: [
      { column: 'chat_id', account: 'chat' },
      { column: 'game_id', account: 'game' },
    ],
  },
  {
    table: 'lookup.link_history',
    holds: 'link_history',
    users: [
      { column: 'chat_id', account: 'chat' },
      { column: 'game_id', account: 'game' },
    ],
  },
  { table: 'lookup.operations', holds: 'other' },
  ...eventErasureRules('lookup'),
  // The number of a guild's links is the sum of several rows in link_counts, so a single row may be above or below 0
  // even when the guild has no link left.
  {
    table: 'lookup.link_counts',
    holds: 'other',
    keptRows: 'EXISTS (SELECT FROM lookup.links WHERE links.guild_id = link_counts.guild_id)',
  },
  { table: 'lookup.leases', belongsToInstallation: true },
];

import type { ErasureRule } from '#kit/personal-data/erasure-rules.ts';

/** The rules by which rows of the events service are erased with a guild and with a user. */
export const erasureRules: readonly ErasureRule[] = [
  {
    table: 'events.log',
    users: (['chat', 'game'] as const).map((account) => ({
      column: 'persons',
      account,
      matches: `persons @> ARRAY['${account}:' || $user]`,
      // The event stays without its data, so that no seq is missing.
      empty: { data: `'{"erased": true}'`, persons: `'{}'`, size: '16' },
      shows: `jsonb_build_object('type', type, 'data', data)`,
    })),
  },
  { table: 'events.days' },
  { table: 'events.streams' },
  // A guild that returns continues its seqs, and the numbers of its recorded events continue too.
  { table: 'events.counters', keptRows: 'TRUE' },
  { table: 'events.sources', keptRows: 'TRUE' },
];

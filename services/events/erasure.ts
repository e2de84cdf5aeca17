import type { ErasureRule } from '#kit/personal-data/erasure-rules.ts';

/** The rules by which rows of the events service are erased with a guild and with a user. */
export const erasureRules: readonly ErasureRule[] = [
  {
    // A response may repeat the event that it answers. It is found through the event, and thus erased before it.
    table: 'events.deliveries',
    users: (['chat', 'game'] as const).map((account) => ({
      column: 'answer',
      account,
      matches: `answer IS NOT NULL AND seq IN (
        SELECT seq FROM events.log WHERE guild_id = $1 AND persons @> ARRAY['${account}:' || $user])`,
      empty: { answer: 'NULL' },
      shows: `jsonb_build_object('seq', seq)`,
    })),
  },
  { table: 'events.parked' },
  { table: 'events.endpoints' },
  { table: 'events.revoked_keys' },
  // Stored responses are encrypted, under idempotency keys that clients chose; they are deleted within a day.
  { table: 'events.idempotency' },
  {
    table: 'events.log',
    users: (['chat', 'game'] as const).map((account) => ({
      column: 'persons',
      account,
      matches: `persons @> ARRAY['${account}:' || $user]`,
      // The event stays without its data, so that no seq is missing.
      empty: { data: `'{"erased": true}'`, persons: `'{}'`, size: '16' },
      // The data may name other persons.
      shows: `jsonb_build_object('type', type)`,
    })),
  },
  { table: 'events.days' },
  { table: 'events.streams' },
  // A guild that returns continues its seqs, and the numbers of its recorded events continue too.
  { table: 'events.counters', keptRows: 'TRUE' },
  { table: 'events.sources', keptRows: 'TRUE' },
];

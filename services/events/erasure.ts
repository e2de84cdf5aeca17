import type { ErasureRule } from '#kit/personal-data/erasure-rules.ts';

/** The rules by which rows of the events service are erased with a guild and with a user. */
export const erasureRules: readonly ErasureRule[] = [
  {
    // A response may repeat the event that it answers. It is found through the event, and thus erased before it.
    table: 'events.deliveries',
    holds: 'webhook_deliveries',
    users: (['chat', 'game'] as const).map((account) => ({
      column: 'answer',
      account,
      matches: `answer IS NOT NULL AND seq IN (
        SELECT seq FROM events.log WHERE guild_id = $1 AND persons @> ARRAY['${account}:' || $user])`,
      empty: { answer: 'NULL' },
      shows: `jsonb_build_object('seq', seq)`,
    })),
  },
  { table: 'events.parked', holds: 'other' },
  { table: 'events.endpoints', holds: 'webhooks' },
  { table: 'events.revoked_keys', holds: 'other' },
  // Stored responses are encrypted, under idempotency keys that clients chose; they are deleted within a day.
  { table: 'events.idempotency', holds: 'stored_responses' },
  {
    table: 'events.log',
    holds: 'events',
    // The seqs of a guild have no gaps, and events before the first day of the guild are no longer read.
    rowCount: `(SELECT counters.last_seq - (
        SELECT first_seq FROM events.days WHERE days.guild_id = $1 ORDER BY day LIMIT 1) + 1
      FROM events.counters WHERE counters.guild_id = $1)`,
    users: (['chat', 'game'] as const).map((account) => ({
      column: 'persons',
      account,
      matches: `persons @> ARRAY['${account}:' || $user]`,
      // The event stays without its data, so that no seq is missing.
      empty: { data: `'{"erased": true}'`, persons: `'{}'`, size: '16' },
      // The export shows only the type, because the data may name other persons.
      shows: `jsonb_build_object('type', type)`,
    })),
  },
  { table: 'events.days', holds: 'other' },
  { table: 'events.streams', holds: 'other' },
  // If an erased guild is used again, its event numbers continue after the last one, in the log (seq) and in each
  // service.
  { table: 'events.counters', keptRows: 'TRUE' },
  { table: 'events.sources', keptRows: 'TRUE' },
];

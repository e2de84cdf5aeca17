import type { ErasureRule } from '#kit/personal-data/erasure-rules.ts';

/** The rows that are erased with a guild. Bindings contain roles and targets, but no user. */
export const erasureRules: readonly ErasureRule[] = [
  { table: 'bindings.bindings' },
  // The last ID of the guild; the IDs start over if the guild comes back.
  { table: 'bindings.counters' },
  // Stored responses are encrypted, so they cannot be searched for a user; they are deleted within a day.
  { table: 'bindings.idempotency' },
];

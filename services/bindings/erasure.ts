import type { ErasureRule } from '#kit/personal-data/erasure-rules.ts';

/** What is removed with a guild. Bindings name roles and targets, and no user. */
export const erasureRules: readonly ErasureRule[] = [
  { table: 'bindings.bindings' },
  // How many bindings there were; a guild that comes back starts anew.
  { table: 'bindings.counters' },
  // Encrypted answers, found by what their callers named them; gone within a day.
  { table: 'bindings.idempotency' },
];

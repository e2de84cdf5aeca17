import { eventErasureRules } from '#kit/events/relay.ts';
import type { ErasureRule } from '#kit/personal-data/erasure-rules.ts';

/**
 * The rules by which rows of the bindings service are erased with a guild. Bindings contain roles and targets, but no
 * user.
 */
export const erasureRules: readonly ErasureRule[] = [
  { table: 'bindings.bindings', holds: 'bindings' },
  // This table has the ID of the newest role binding of each guild; the IDs start over if an erased guild returns.
  { table: 'bindings.counters', holds: 'other' },
  ...eventErasureRules('bindings'),
  // Stored responses to writes are encrypted, so they cannot be searched for a user; they are deleted within a day.
  { table: 'bindings.idempotency', holds: 'stored_responses' },
  { table: 'bindings.leases', belongsToInstallation: true },
];

import type { Quota } from '../errors.ts';

/** A quota of a guild, and how much of it the guild uses. */
export interface QuotaUse {
  quota: Quota;
  limit: number;
  used: number;
}

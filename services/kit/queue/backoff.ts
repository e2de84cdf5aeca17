import { backoffMs } from '../resilience/backoff.ts';

/**
 * Milliseconds: the minimum and maximum delay between two attempts of an item, unless the item's queue has its own
 * delays.
 */
export const ITEM_BACKOFF = { minMs: 500, maxMs: 60_000 };
/** Milliseconds: the maximum time between two attempts of an item during an outage. */
const OUTAGE_MS = 4_000;

/** Returns the milliseconds until an item's next attempt during an outage; up to half of the delay is random. */
export function outageBackoffMs(random = Math.random): number {
  return backoffMs(1, { minMs: OUTAGE_MS, maxMs: OUTAGE_MS, random });
}

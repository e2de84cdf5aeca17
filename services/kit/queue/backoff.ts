import { backoffMs } from '../resilience/backoff.ts';

/** The delays between the attempts of an item, unless its queue has its own. */
export const ITEM_BACKOFF = { minMs: 500, maxMs: 60_000 };
/** During an outage each item is tried about this often. */
const OUTAGE_MS = 4_000;

/** Milliseconds until the next attempt during an outage; up to half of it is random. */
export function outageBackoffMs(random = Math.random): number {
  return backoffMs(1, { minMs: OUTAGE_MS, maxMs: OUTAGE_MS, random });
}

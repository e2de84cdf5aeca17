/** In a large map one per cent of the entries is evicted at a time. */
const SHARE = 100;

/**
 * Evicts the entries that were added first when there are more than `max`. In large maps it evicts one per cent of them
 * at a time: the time to find the first entry grows with the number of entries deleted before it, so evicting them one
 * by one would be slow.
 */
export function evictOldest(entries: Map<unknown, unknown>, max: number): void {
  if (entries.size <= max) return;
  let excess = entries.size - max + Math.floor(max / SHARE);
  for (const key of entries.keys()) {
    if (excess-- <= 0) return;
    entries.delete(key);
  }
}

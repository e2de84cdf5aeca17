/** The divisor for the number of extra entries that an eviction removes: one hundredth, or one per cent, of the map. */
const SHARE = 100;

/**
 * Evicts the entries that were added to a map first when it has more than `max` entries. In large maps it evicts one
 * per cent of the entries at a time: the time to find the first entry grows with the number of entries deleted before
 * it, so evicting them one by one would be slow.
 */
export function evictOldest(entries: Map<unknown, unknown>, max: number): void {
  if (entries.size <= max) return;
  let excess = entries.size - max + Math.floor(max / SHARE);
  for (const key of entries.keys()) {
    if (excess-- <= 0) return;
    entries.delete(key);
  }
}

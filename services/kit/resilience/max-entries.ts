const ONE = () => 1;

/**
 * Returns the options of an LRUCache that holds at most `max` entries. With lru-cache's own `max` the cache would
 * allocate arrays of that length when it is created, megabytes for a cache that may never be filled.
 */
export function maxEntries(max: number): { maxSize: number; sizeCalculation: () => number } {
  return { maxSize: max, sizeCalculation: ONE };
}

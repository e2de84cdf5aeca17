import pLimit from 'p-limit';

/**
 * Runs `work` for every item, at most `max` at a time, and returns the results in the order of the items. After the
 * signal is aborted no further item is started; the results of items that were not started are undefined. Rejects with
 * the first error.
 */
export function inParallel<Item, Result>(
  items: readonly Item[],
  max: number,
  work: (item: Item) => Promise<Result>,
  signal?: AbortSignal,
): Promise<(Result | undefined)[]> {
  return pLimit(max).map(items, async (item) => (signal?.aborted ? undefined : work(item)));
}

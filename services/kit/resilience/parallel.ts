/**
 * Does the work for every item, at most `most` at a time; results in the order of the items. Begins no more once the
 * signal is aborted: what was not begun is undefined. The first error is thrown.
 */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  most: number,
  work: (item: Item) => Promise<Result>,
  signal?: AbortSignal,
): Promise<(Result | undefined)[]> {
  const results = Array.from<Result | undefined>({ length: items.length });
  const entries = items.entries();
  // All workers take from one iterator.
  const worker = async (): Promise<void> => {
    for (const [index, item] of entries) {
      if (signal?.aborted) return;
      results[index] = await work(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
  return results;
}

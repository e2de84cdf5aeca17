/** Repeats work until a promise is settled. */
export async function whilePending(pending: Promise<unknown>, work: () => Promise<unknown>): Promise<void> {
  const ended = new AbortController();
  const end = () => ended.abort();
  pending.then(end, end);
  while (!ended.signal.aborted) await work();
}

/** Runs `work` and calls `renew` every `everyMs` until it settles, one call at a time. A failed renewal is ignored. */
export async function whileRenewing<Result>(
  everyMs: number,
  renew: () => Promise<unknown>,
  work: () => Promise<Result>,
): Promise<Result> {
  let renewal: Promise<unknown> | undefined;
  const timer = setInterval(() => {
    renewal ??= renew()
      .catch(() => undefined)
      .finally(() => {
        renewal = undefined;
      });
  }, everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    // A renewal that is still in flight could otherwise undo what the caller does next.
    await renewal;
  }
}

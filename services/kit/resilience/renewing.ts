/**
 * Runs `work`, and calls `renew` every `everyMs` until `work` settles. Renewals do not overlap; failed ones are
 * ignored.
 */
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
    // A renewal still in flight is awaited: it could otherwise undo changes that the caller makes next.
    await renewal;
  }
}

/** The work's outcome. Until it settles `renew` is called every so often, one call at a time; a call may fail. */
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
    // Whatever comes next is not undone by a renewal that was under way.
    await renewal;
  }
}

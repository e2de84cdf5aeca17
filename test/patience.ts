/**
 * The time that tests wait for a condition, long enough for a busy machine. A test that guarantees a shorter time
 * passes its own timeout or uses `withinBound`.
 */
export const PATIENCE = { timeout: 30_000 } as const;

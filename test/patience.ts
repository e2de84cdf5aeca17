/**
 * How long tests wait for a condition: a busy machine may take long, or stand still for a while. Who guarantees it sooner
 * says so with a timeout of its own or with `withinBound`.
 */
export const PATIENCE = { timeout: 30_000 } as const;

const FIRST_MS = 500;
const MAX_MS = 60_000;
/** During an outage each item is tried about this often. */
const OUTAGE_MS = 4_000;

/** Milliseconds until the next attempt: doubles with each attempt up to a maximum; up to half of it is random. */
export function backoffMs(
  attempts: number,
  { firstMs = FIRST_MS, maxMs = MAX_MS }: { firstMs?: number; maxMs?: number } = {},
  random = Math.random,
): number {
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(attempts - 1, 20));
  return Math.round(full * (0.5 + random() / 2));
}

/** Milliseconds until the next attempt during an outage. */
export function outageBackoffMs(random = Math.random): number {
  return Math.round(OUTAGE_MS * (0.5 + random() / 2));
}

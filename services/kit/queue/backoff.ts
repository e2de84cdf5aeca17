const FIRST_MS = 500;
const MAX_MS = 60_000;
/** During an outage each item is tried about this often. */
const OUTAGE_MS = 4_000;

/** Milliseconds until the next attempt after so many: doubles from 0.5 s up to a minute, of which up to half is random. */
export function backoffMs(attempts: number, random = Math.random): number {
  const full = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(attempts - 1, 20));
  return Math.round(full * (0.5 + random() / 2));
}

/** Milliseconds until the next attempt during an outage. */
export function outageBackoffMs(random = Math.random): number {
  return Math.round(OUTAGE_MS * (0.5 + random() / 2));
}

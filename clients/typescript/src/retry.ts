import type { GuildDataError } from './errors.ts';
import type { Runtime } from './runtime.ts';

const FIRST_MS = 500;
const MAX_MS = 30_000;

/** Exponential backoff with full jitter: a random time up to twice the previous maximum. `failures` starts at 1. */
export function backoffMs(failures: number, random: Runtime['random']): number {
  return random() * Math.min(MAX_MS, FIRST_MS * 2 ** (failures - 1));
}

/**
 * The time to wait after an error: what the API asks for, otherwise a backoff. Clients that were told the same time are
 * spread over the next second.
 */
export function delayAfter(error: GuildDataError, failures: number, random: Runtime['random']): number {
  const { retryAfter } = error;
  return retryAfter === undefined ? backoffMs(failures, random) : (retryAfter + random()) * 1_000;
}

import { monitorEventLoopDelay } from 'node:perf_hooks';

/** The largest number of these times within any window of this many milliseconds. */
export function maxWithin(windowMs: number, times: readonly number[]): number {
  const sorted = times.toSorted((one, other) => one - other);
  return Math.max(
    0,
    ...sorted.map((start) => sorted.filter((time) => time >= start && time < start + windowMs).length),
  );
}

/**
 * Requests that were allowed during one second may be observed within a shorter time if this process stalls. Returns a
 * function that ends the measurement and returns one second less the longest stall, in milliseconds.
 */
export function watchSecond(): () => number {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  return () => {
    delay.disable();
    return 1_000 - delay.max / 1e6;
  };
}

import { monitorEventLoopDelay } from 'node:perf_hooks';

/** The most of these times that lie within so many milliseconds. */
export function mostWithin(windowMs: number, times: readonly number[]): number {
  const sorted = times.toSorted((one, other) => one - other);
  return Math.max(
    0,
    ...sorted.map((start) => sorted.filter((time) => time >= start && time < start + windowMs).length),
  );
}

/**
 * What is let through in a second may be seen in less where this process, or the machine, stood still for a while. Returns
 * a function that ends the watch and gives what is left of a second, in milliseconds, less the longest standstill.
 */
export function watchSecond(): () => number {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  return () => {
    delay.disable();
    return 1_000 - delay.max / 1e6;
  };
}

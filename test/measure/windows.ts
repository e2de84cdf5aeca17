import { expect } from 'vitest';
import { WINDOW_MS } from '#gateway/limits/limiter.ts';

/** Waits until the window has so much time left: what is to be counted together must not meet a new one. */
export async function untilWindowHas(milliseconds: number): Promise<void> {
  await expect.poll(() => WINDOW_MS - (Date.now() % WINDOW_MS), { interval: 100 }).toBeGreaterThan(milliseconds);
}

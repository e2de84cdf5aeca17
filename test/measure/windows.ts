import { expect } from 'vitest';
import { WINDOW_MS } from '#kit/limits/limiter.ts';

/** Waits until the rate-limit window has this much time left, so that the next requests fall into one window. */
export async function waitForWindowTime(milliseconds: number): Promise<void> {
  await expect.poll(() => WINDOW_MS - (Date.now() % WINDOW_MS), { interval: 100 }).toBeGreaterThan(milliseconds);
}

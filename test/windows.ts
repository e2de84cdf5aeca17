import { expect } from 'vitest';

/** Windows of limits are minutes by the clock. */
const WINDOW_MS = 60_000;

/** Waits until the window has so much time left: what is to be counted together must not meet a new one. */
export async function untilWindowHas(milliseconds: number): Promise<void> {
  await expect.poll(() => WINDOW_MS - (Date.now() % WINDOW_MS), { interval: 100 }).toBeGreaterThan(milliseconds);
}

import { vi } from 'vitest';
import { PATIENCE } from './patience.ts';

/**
 * Waits until an assertion passes, and tries it every `interval` milliseconds. For tests that run concurrently, where
 * `expect.poll` fails because it does not know to which of them it belongs.
 */
export function soon(assertion: () => void | Promise<void>, interval = 50): Promise<void> {
  return vi.waitFor(assertion, { ...PATIENCE, interval });
}

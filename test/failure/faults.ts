import { afterAll, expect } from 'vitest';

/** At the end of a file: no rejection or exception in this process was left unhandled. */
export function expectNothingUnhandled(): void {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on('unhandledRejection', note);
  process.on('uncaughtException', note);
  afterAll(() => {
    process.off('unhandledRejection', note);
    process.off('uncaughtException', note);
    expect(unhandled).toEqual([]);
  });
}

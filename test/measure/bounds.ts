import { expect } from 'vitest';
import { printFigure, round } from './figures.ts';

/** True in `npm run test:long`, which checks the exact bounds; other runs use the short form. */
export const LONG = process.env['TEST_LONG'] === '1';

/** The size of a test, such as its number of random cases: `short` or, in `npm run test:long`, `long`. */
export function amount(short: number, long: number): number {
  return LONG ? long : short;
}

/**
 * Options for a `describe` whose tests mostly wait and share nothing: they run at the same time, except in
 * `npm run test:long`, where nothing else may run while a bound is measured.
 */
export const WAITING_TOGETHER = { concurrent: !LONG } as const;

/**
 * Prints a measured figure and compares it with its bound: `npm run test:long` with the bound itself, other runs with
 * ten times the bound, because other tests run at the same time.
 */
export function withinBound(name: string, measured: number, bound: number, unit = 'ms'): void {
  printFigure(name, `${round(measured)} ${unit} (bound ${bound} ${unit})`);
  expect(measured, `${name}, in ${unit}`).toBeLessThanOrEqual(LONG ? bound : bound * 10);
}

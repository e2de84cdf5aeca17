import { expect } from 'vitest';
import { printFigure, round } from './figures.ts';

/** True in `npm run test:long`, which proves the bounds themselves; every other run takes the short form. */
export const LONG = process.env['TEST_LONG'] === '1';

/** How much of something a run does, such as random cases: little in the short form, much in the long one. */
export function amount(short: number, long: number): number {
  return LONG ? long : short;
}

/**
 * Prints a measured figure and holds it against its bound: `npm run test:long` against the bound itself, every other
 * run against ten times the bound, since it shares its machine with other tests.
 */
export function withinBound(name: string, measured: number, bound: number, unit = 'ms'): void {
  printFigure(name, `${round(measured)} ${unit} (bound ${bound} ${unit})`);
  expect(measured, `${name}, in ${unit}`).toBeLessThanOrEqual(LONG ? bound : bound * 10);
}

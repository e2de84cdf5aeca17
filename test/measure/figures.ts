/** The prefix of each printed figure, by which the reporter finds it. */
export const FIGURE = 'figure: ';

/** Prints a measured figure. The reporter lists all figures at the end of the run. */
export function printFigure(name: string, measured: string | number): void {
  console.log(`${FIGURE}${name}: ${typeof measured === 'number' ? round(measured) : measured}`);
}

/** Rounds to four significant digits. */
export function round(value: number): number {
  return Number(value.toPrecision(4));
}

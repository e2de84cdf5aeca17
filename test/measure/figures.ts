/** What stands before each printed figure, so that the reporter finds it again. */
export const FIGURE = 'figure: ';

/** Prints a measured figure. The run's end lists them all together. */
export function printFigure(name: string, measured: string | number): void {
  console.log(`${FIGURE}${name}: ${typeof measured === 'number' ? round(measured) : measured}`);
}

/** To four significant digits. */
export function round(value: number): number {
  return Number(value.toPrecision(4));
}

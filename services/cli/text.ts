/** Rows under headings, printed a page at a time: columns are as wide as their widest cell so far. */
export class Table {
  readonly #headings: readonly string[];
  readonly #widths: number[];
  isEmpty = true;

  constructor(headings: readonly string[]) {
    this.#headings = headings;
    this.#widths = headings.map(({ length }) => length);
  }

  /** The text of further rows, the first ones under the headings; without a newline at its end. */
  rows(rows: readonly (readonly string[])[]): string {
    for (const row of rows)
      for (const [column, cell] of row.entries())
        this.#widths[column] = Math.max(this.#widths[column] ?? 0, cell.length);
    const all = this.isEmpty ? [this.#headings, ...rows] : rows;
    this.isEmpty = false;
    return all.map((row) => this.#line(row)).join('\n');
  }

  #line(row: readonly string[]): string {
    return row
      .map((cell, column) => cell.padEnd(this.#widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  }
}

/** Rows under headings, in columns as wide as their widest cell. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  return new Table(headings).rows(rows);
}

/** Names and values, aligned. */
export function properties(values: readonly (readonly [string, string])[]): string {
  const width = Math.max(...values.map(([name]) => name.length));
  return values.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

/** Unix seconds as `2026-11-21 09:30:00 UTC`. */
export function time(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('T', ' ').replace('.000Z', ' UTC');
}

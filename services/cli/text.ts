/** A text table that is printed page by page. Columns are as wide as their widest cell so far. */
export class Table {
  readonly #headings: readonly string[];
  readonly #widths: number[];
  isEmpty = true;

  constructor(headings: readonly string[]) {
    this.#headings = headings;
    this.#widths = headings.map(({ length }) => length);
  }

  /** Returns further rows of the table as text, without a final newline. The first call also returns the headings. */
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

/** Returns a text table with columns as wide as their widest cell. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  return new Table(headings).rows(rows);
}

/** Returns lines of names and values, with the values aligned. */
export function properties(values: readonly (readonly [string, string])[]): string {
  const width = Math.max(...values.map(([name]) => name.length));
  return values.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

/** Formats Unix seconds as `2026-11-21 09:30:00 UTC`. */
export function time(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('T', ' ').replace('.000Z', ' UTC');
}

/** Formats Unix seconds, or returns `missing` if there is no time. */
export function optionalTime(seconds: number | undefined, missing: string): string {
  return seconds === undefined ? missing : time(seconds);
}

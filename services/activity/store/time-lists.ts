/** The last row of a page of a list that is ordered by time, the newest first. */
export interface TimePosition {
  /** Unix microseconds, as text because they may exceed the exact integers of JavaScript. */
  micros: string;
  id: string;
}

export interface TimeRange {
  /** Inclusive. */
  from?: Date | undefined;
  /** Exclusive. */
  before?: Date | undefined;
  /** The position at which the page begins. */
  after: TimePosition | undefined;
}

/** SQL for a time in Unix microseconds, as text. */
export const microsOf = (time: string) => `(extract(epoch FROM ${time}) * 1000000)::bigint::text`;

const MICROS_PER_MS = 1_000n;

/**
 * The conditions of a list that is ordered by time and ID, with their parameters. They follow `guild_id = $1` in the
 * statement. It has conditions only for filters that are set, so that PostgreSQL plans each combination separately.
 */
export class ListConditions {
  readonly values: unknown[];
  readonly #conditions: string[] = [];

  constructor(guildId: string) {
    this.values = [guildId];
  }

  /** Adds a parameter and returns its placeholder. */
  parameter(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  /** Adds a condition: SQL, or a function that returns SQL for the placeholder of `value`. */
  add(condition: string | ((placeholder: string) => string), value?: unknown): void {
    this.#conditions.push(typeof condition === 'string' ? condition : condition(this.parameter(value)));
  }

  /** Limits the list to a range of time and to the rows after a position. */
  addTimes(time: string, id: string, { from, before, after }: TimeRange): void {
    if (from) this.add((value) => `${time} >= ${value}`, from);
    // Only the lower one of the two upper bounds is used. With both, PostgreSQL may start the index scan at the higher
    // one and then skip over all rows in between.
    const isBelow = before && after && BigInt(before.getTime()) * MICROS_PER_MS <= BigInt(after.micros);
    if (after && !isBelow) {
      const micros = `${this.parameter(after.micros)}::bigint`;
      // Seconds and microseconds are added separately, because an interval is multiplied with a floating-point number.
      const at = `'epoch'::timestamptz + ${micros} / 1000000 * interval '1 second'
        + ${micros} % 1000000 * interval '1 microsecond'`;
      this.add((value) => `(${time}, ${id}) < (${at}, ${value}::uuid)`, after.id);
    } else if (before) this.add((value) => `${time} < ${value}`, before);
  }

  /** Returns the conditions as SQL that continues a WHERE. */
  get sql(): string {
    return this.#conditions.map((condition) => ` AND ${condition}`).join('');
  }
}

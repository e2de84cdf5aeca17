/** The length of the parts of a day in which activity is counted: every offset of a time zone is a multiple of it. */
export const QUARTER_SECONDS = 900;
export const QUARTERS_PER_DAY = 96;

export interface ReportRange {
  /** Unix seconds. */
  from: number;
  /** Unix seconds, exclusive. */
  to: number;
  interval: 'day' | 'week';
  /** The name of an IANA time zone. */
  tz: string;
}

/** A day or week of a report. Its ends are in quarters of an hour since 1970 (UTC), the second one exclusive. */
export interface ReportInterval {
  /** Its first day in the time zone, also if the report begins later. */
  date: string;
  first: number;
  end: number;
}

/** The intervals of a report, and the interval to which each quarter of an hour belongs. */
export class ReportIntervals {
  readonly tz: string;
  readonly intervals: readonly ReportInterval[];
  /** Days since 1970-01-01 (UTC). */
  readonly firstDay: number;
  readonly lastDay: number;
  readonly #firstQuarter: number;
  /** The index of the interval, or -1, for each quarter of an hour from the start of the first day. */
  readonly #indexes: Int16Array;

  constructor(range: ReportRange) {
    const first = Math.floor(range.from / QUARTER_SECONDS);
    const end = Math.ceil(range.to / QUARTER_SECONDS);
    const start = Temporal.Instant.fromEpochMilliseconds(range.from * 1000).toZonedDateTimeISO(range.tz);
    this.tz = start.timeZoneId;
    this.intervals = intervalsOf(start, range.interval, { first, end });
    this.firstDay = Math.floor(first / QUARTERS_PER_DAY);
    this.lastDay = Math.floor((end - 1) / QUARTERS_PER_DAY);
    this.#firstQuarter = this.firstDay * QUARTERS_PER_DAY;
    this.#indexes = new Int16Array((this.lastDay - this.firstDay + 1) * QUARTERS_PER_DAY).fill(-1);
    for (const [index, interval] of this.intervals.entries()) {
      this.#indexes.fill(index, interval.first - this.#firstQuarter, interval.end - this.#firstQuarter);
    }
  }

  /** Returns the index of the interval of a quarter of an hour since 1970; -1 if the report does not contain it. */
  indexOf(quarter: number): number {
    return this.#indexes[quarter - this.#firstQuarter] ?? -1;
  }
}

/** Returns the intervals from the day or week of `start` on, without what is before `first` or not before `end`. */
function intervalsOf(
  start: Temporal.ZonedDateTime,
  unit: 'day' | 'week',
  { first, end }: { first: number; end: number },
): ReportInterval[] {
  const days = unit === 'week' ? 7 : 1;
  let date = start.toPlainDate().subtract({ days: unit === 'week' ? start.dayOfWeek - 1 : 0 });
  const quarterOf = (day: Temporal.PlainDate) =>
    // Without a time it is the start of the day, which is not midnight if the clocks change then.
    Math.floor(day.toZonedDateTime(start.timeZoneId).epochMilliseconds / 1000 / QUARTER_SECONDS);
  const intervals: ReportInterval[] = [];
  for (let from = quarterOf(date); from < end; ) {
    const next = date.add({ days });
    const to = quarterOf(next);
    const interval = { date: date.toString(), first: Math.max(from, first), end: Math.min(to, end) };
    // A day may be missing in a time zone that moved over the date line.
    if (interval.end > interval.first) intervals.push(interval);
    [date, from] = [next, to];
  }
  return intervals;
}

export type ReportInterval = 'day' | 'week';

/**
 * Returns the starts of the local days or weeks from the one that contains `from` to the one that contains `to`, and the
 * end of the last one. `from` and `to` are Unix seconds, weeks begin on Monday, `tz` is an IANA time zone.
 */
export function boundariesOf(from: number, to: number, interval: ReportInterval, tz: string): Date[] {
  const dateOf = (seconds: number) => Temporal.Instant.fromEpochMilliseconds(seconds * 1000).toZonedDateTimeISO(tz);
  let date = dateOf(from).toPlainDate();
  if (interval === 'week') date = date.subtract({ days: date.dayOfWeek - 1 });
  const boundaries: Date[] = [];
  for (;;) {
    const start = new Date(date.toZonedDateTime(tz).epochMilliseconds);
    // A day that a time zone skipped, such as 2011-12-30 in Samoa, begins when the next one does.
    if (start.getTime() !== boundaries.at(-1)?.getTime()) boundaries.push(start);
    if (start.getTime() > to * 1000) return boundaries;
    date = date.add(interval === 'week' ? { weeks: 1 } : { days: 1 });
  }
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };
const DURATION = /^([0-9]{1,9})([smhdw])$/;
const UNIX_SECONDS = /^[0-9]{1,12}$/;
const DATE = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** The formats of times on the command line, for help texts and errors. */
export const TIME_FORMATS =
  'Unix seconds, a date (2026-11-21, 2026-11-21T09:30:00Z) or relative: 90s, 30m, 1h, 14d, 2w';

/** Converts a duration such as `90s`, `30m`, `1h`, `14d` or `2w` to seconds; undefined if the text is not a duration. */
export function readDuration(text: string): number | undefined {
  const [, count, unit = ''] = DURATION.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (SECONDS[unit] as number);
}

/**
 * Converts a time to Unix seconds. The text is Unix seconds, a date in UTC or with an offset, or a duration before
 * (`ago`) or after (`ahead`) `nowSeconds`. Returns undefined if it is none of these.
 */
export function readTime(text: string, direction: 'ago' | 'ahead', nowSeconds: number): number | undefined {
  if (UNIX_SECONDS.test(text)) return Number(text);
  const duration = readDuration(text);
  if (duration !== undefined) return direction === 'ago' ? Math.max(0, nowSeconds - duration) : nowSeconds + duration;
  const milliseconds = DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000);
}

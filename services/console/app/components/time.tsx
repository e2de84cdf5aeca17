import { useEffect, useState } from 'preact/hooks';
import { timeTexts as texts } from '../texts.ts';

const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

const UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** How long ago or ahead a time is: `3 hours ago`, `in 2 days`, `just now`. */
export function relativeTime(at: number, now = Date.now() / 1_000): string {
  const seconds = at - now;
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? [];
  if (unit === undefined) return seconds < 0 ? texts.justNow : texts.soon;
  // A ban for a week that was made a moment ago ends in 7 days, not in 6. What is past was at least so long ago.
  const count = seconds > 0 ? Math.round(seconds / length) : Math.trunc(seconds / length);
  return RELATIVE.format(count, unit);
}

/** A length of time in words with its largest two units: `2 hours 5 minutes`, `a week`. */
export function durationText(seconds: number): string {
  const parts: string[] = [];
  let rest = Math.round(seconds);
  for (const [name, length] of [
    ['week', 604_800],
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60],
    ['second', 1],
  ] as const) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0) parts.push(`${count} ${name}${count === 1 ? '' : 's'}`);
    if (parts.length === 2) break;
  }
  return parts.join(' ') || texts.noTime;
}

/** A day in the person's zone and language. */
export const dayText = (at: number): string => DAY.format(at * 1_000);

/** The exact time in the person's zone and language. */
export const exactText = (at: number): string => EXACT.format(at * 1_000);

const REFRESH_MS = 30_000;

/** A time in Unix seconds: relative, and exact when a pointer is over it. `format` chooses another way to write it. */
export function Time({ at, format = 'relative' }: { at: number; format?: 'relative' | 'clock' | 'day' }) {
  const [, refresh] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => refresh((number) => number + 1), REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  const shown = { relative: () => relativeTime(at), clock: () => CLOCK.format(at * 1_000), day: () => dayText(at) };
  return (
    <time dateTime={new Date(at * 1_000).toISOString()} title={exactText(at)}>
      {shown[format]()}
    </time>
  );
}

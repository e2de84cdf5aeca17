import { describe, expect, it } from 'vitest';
import { boundariesOf } from './report-intervals.ts';

const seconds = (time: string) => Date.parse(time) / 1000;
const times = (from: string, to: string, interval: 'day' | 'week', tz: string) =>
  boundariesOf(seconds(from), seconds(to), interval, tz).map((time) => time.toISOString().replace(':00.000Z', 'Z'));

describe('the boundaries of a report', () => {
  it('are those of whole days, also if both times are in one day', () => {
    expect(times('2026-11-21T10:00Z', '2026-11-21T10:00Z', 'day', 'UTC')).toEqual([
      '2026-11-21T00:00Z',
      '2026-11-22T00:00Z',
    ]);
    expect(times('2026-11-21T00:00Z', '2026-11-22T00:00Z', 'day', 'UTC')).toHaveLength(3);
  });

  it('are Mondays for weeks', () => {
    expect(times('2026-11-22T23:59Z', '2026-11-23T00:00Z', 'week', 'UTC')).toEqual([
      '2026-11-16T00:00Z',
      '2026-11-23T00:00Z',
      '2026-11-30T00:00Z',
    ]);
  });

  it('follow daylight saving time', () => {
    expect(times('2026-03-29T12:00Z', '2026-03-29T12:00Z', 'day', 'Europe/Berlin')).toEqual([
      '2026-03-28T23:00Z',
      '2026-03-29T22:00Z',
    ]);
  });

  it('are at quarters of an hour where the time zone is', () => {
    expect(times('2026-11-21T12:00Z', '2026-11-21T12:00Z', 'day', 'Asia/Kathmandu')).toEqual([
      '2026-11-20T18:15Z',
      '2026-11-21T18:15Z',
    ]);
  });

  it('differ, also where a time zone skipped a day', () => {
    expect(times('2011-12-29T12:00Z', '2011-12-31T12:00Z', 'day', 'Pacific/Apia')).toEqual([
      '2011-12-29T10:00Z',
      '2011-12-30T10:00Z',
      '2011-12-31T10:00Z',
      '2012-01-01T10:00Z',
    ]);
  });
});

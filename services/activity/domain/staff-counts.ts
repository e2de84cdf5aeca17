import type { OpenSession, StaffDay } from '../store/staff-days.ts';
import { QUARTER_SECONDS, QUARTERS_PER_DAY, type ReportIntervals } from './report-intervals.ts';

/** What a staff member did in an interval of a report. */
export interface StaffCounts {
  /** Sessions that started in the interval. */
  sessions: number;
  seconds: number;
  idleSeconds: number;
  /** All actions, also those of types that are not counted by type. */
  actionCount: number;
  actions: Map<string, number>;
}

/** The bytes of a total: two for its key and four for its value. */
const TOTAL_BYTES = 6;

/** Adds up what one staff member did in each interval of a report. */
export class CountsByInterval {
  readonly #intervals: ReportIntervals;
  /** By the index of the interval; intervals without activity are missing. */
  readonly counts: StaffCounts[] = [];

  constructor(intervals: ReportIntervals) {
    this.#intervals = intervals;
  }

  /** Adds the totals of a day. */
  addDay({ day, sessionTotals, actionTypes, actionTotals }: StaffDay): void {
    this.#read(day, sessionTotals, (counts, kind, value) => {
      if (kind === 0) counts.sessions += value;
      else if (kind === 1) counts.seconds += value;
      else counts.idleSeconds += value;
    });
    const types = actionTypes.split('\n');
    this.#read(day, actionTotals, (counts, kind, value) => {
      counts.actionCount += value;
      const type = types[kind - 1];
      if (type !== undefined) counts.actions.set(type, (counts.actions.get(type) ?? 0) + value);
    });
  }

  /** Adds an open session up to its last heartbeat, as it is counted if it ends without another one. */
  addOpenSession({ startedAt, beatAt, idleSeconds }: OpenSession): void {
    const first = Math.floor(startedAt.getTime() / 1000);
    const length = Math.max(Math.floor(beatAt.getTime() / 1000) - first, 0);
    const idle = Math.min(idleSeconds, length);
    const firstQuarter = Math.floor(first / QUARTER_SECONDS);
    const started = this.#at(firstQuarter);
    if (started) started.sessions++;
    for (const { first: from, end } of this.#intervals.intervals) {
      const since = clamp(from * QUARTER_SECONDS - first, length);
      const until = clamp(end * QUARTER_SECONDS - first, length);
      const counts = until > since ? this.#at(from) : undefined;
      if (!counts) continue;
      counts.seconds += until - since;
      counts.idleSeconds += Math.floor((idle * until) / length) - Math.floor((idle * since) / length);
    }
  }

  #read(day: number, totals: Buffer, add: (counts: StaffCounts, kind: number, value: number) => void): void {
    const firstQuarter = day * QUARTERS_PER_DAY;
    for (let at = 0; at < totals.length; at += TOTAL_BYTES) {
      const key = totals.readUInt16BE(at);
      const counts = this.#at(firstQuarter + (key % QUARTERS_PER_DAY));
      if (counts) add(counts, Math.floor(key / QUARTERS_PER_DAY), totals.readInt32BE(at + 2));
    }
  }

  /** Returns the counts of the interval to which a quarter of an hour belongs; undefined outside of the report. */
  #at(quarter: number): StaffCounts | undefined {
    const index = this.#intervals.indexOf(quarter);
    if (index === -1) return undefined;
    return (this.counts[index] ??= { sessions: 0, seconds: 0, idleSeconds: 0, actionCount: 0, actions: new Map() });
  }
}

const clamp = (value: number, max: number) => Math.min(Math.max(value, 0), max);

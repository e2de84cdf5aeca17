import type { OpenSession, StaffDay } from '../store/staff-days.ts';
import { QUARTER_SECONDS, QUARTERS_PER_DAY, type ReportIntervals } from './report-intervals.ts';

/** A number for each interval of a report. */
type Column = Float64Array;

/** The bytes of a total: two for its key and four for its value. */
const TOTAL_BYTES = 6;
/** The smallest kind of a total of actions. */
const FIRST_ACTION_KIND = 3;

/** What one staff member did in each interval of a report, as columns that are indexed like the intervals. */
export class StaffCounts {
  /** Sessions that started in the interval. */
  readonly sessions: Column;
  readonly seconds: Column;
  readonly idleSeconds: Column;
  /** All actions, also those of types that are not counted by type. */
  readonly actionCount: Column;
  readonly actions = new Map<string, Column>();
  readonly #intervals: ReportIntervals;

  constructor(intervals: ReportIntervals) {
    this.#intervals = intervals;
    this.sessions = this.#column();
    this.seconds = this.#column();
    this.idleSeconds = this.#column();
    this.actionCount = this.#column();
  }

  /** Adds the totals of a day. The migration 0010_staff_days.sql describes their format. */
  addDay({ day, actionTypes, totals }: StaffDay): void {
    const ofTypes = actionTypes === '' ? [] : actionTypes.split('\n').map((type) => this.#actionsOf(type));
    // Kind 3 counts actions whose type did not fit into the day's list of types. Only the total of all actions includes
    // them.
    const columns = [this.sessions, this.seconds, this.idleSeconds, undefined, ...ofTypes];
    const firstQuarter = day * QUARTERS_PER_DAY;
    const bytes = Buffer.from(totals, 'base64');
    for (let at = 0; at < bytes.length; at += TOTAL_BYTES) {
      const key = bytes.readUInt16BE(at);
      const value = bytes.readInt32BE(at + 2);
      const kind = Math.floor(key / QUARTERS_PER_DAY);
      const index = this.#intervals.indexOf(firstQuarter + (key % QUARTERS_PER_DAY));
      const column = columns[kind];
      if (column) add(column, index, value);
      if (kind >= FIRST_ACTION_KIND) add(this.actionCount, index, value);
    }
  }

  /** Adds an open session up to its last heartbeat, as it is counted if it ends without another one. */
  addOpenSession({ startedAt, beatAt, idleSeconds }: OpenSession): void {
    const first = Math.floor(startedAt.getTime() / 1000);
    const length = Math.max(Math.floor(beatAt.getTime() / 1000) - first, 0);
    const idle = Math.min(idleSeconds, length);
    const idleUntil = (seconds: number) => (length === 0 ? 0 : Math.floor((idle * seconds) / length));
    add(this.sessions, this.#intervals.indexOf(Math.floor(first / QUARTER_SECONDS)), 1);
    for (const [index, interval] of this.#intervals.intervals.entries()) {
      const since = clamp(interval.first * QUARTER_SECONDS - first, length);
      const until = clamp(interval.end * QUARTER_SECONDS - first, length);
      add(this.seconds, index, until - since);
      add(this.idleSeconds, index, idleUntil(until) - idleUntil(since));
    }
  }

  /** True if the staff member was active in the interval. */
  isActive(index: number): boolean {
    return this.sessions[index] !== 0 || this.seconds[index] !== 0 || this.actionCount[index] !== 0;
  }

  #actionsOf(type: string): Column {
    let column = this.actions.get(type);
    if (!column) this.actions.set(type, (column = this.#column()));
    return column;
  }

  #column(): Column {
    return new Float64Array(this.#intervals.intervals.length);
  }
}

/** Adds to the number of an interval. An index outside of the report is ignored. */
function add(column: Column, index: number, value: number): void {
  const before = column[index];
  if (before !== undefined) column[index] = before + value;
}

const clamp = (value: number, max: number) => Math.min(Math.max(value, 0), max);

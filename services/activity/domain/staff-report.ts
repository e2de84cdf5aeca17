import type { Queryable } from '#kit/postgres/pool.ts';
import { findStaff, type OpenSession, readStaffDays, type StaffDay } from '../store/staff-days.ts';
import { ReportIntervals, type ReportRange } from './report-intervals.ts';
import { StaffCounts } from './staff-counts.ts';

/** Staff members whose days are read with one statement. */
const STAFF_PER_READ = 25;
/** The maximum number of staff members whose activity one statement checks. */
const STAFF_PER_SEARCH = 200;
/** The maximum number of staff members that one page searches. */
const MAX_SEARCHED = 5_000;
/** A page ends after the staff member with which its counts by action type have about this many bytes. */
const MAX_TYPE_BYTES = 8 * 1024 * 1024;

export interface StaffMemberReport {
  gameId: number;
  counts: StaffCounts;
}

export interface StaffReportPage {
  intervals: ReportIntervals;
  staff: StaffMemberReport[];
  /** The game ID after which the next page begins; undefined on the last page. */
  next: number | undefined;
}

/** Reports the activity of staff members by day or week, from totals that are stored with each session and action. */
export class StaffReport {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  /**
   * Returns the activity of up to `limit` staff members whose game IDs are greater than `after`. A page has fewer if it
   * would be too large, or if many staff members were not active; the next page then continues where it ended.
   */
  async page(
    guildId: string,
    range: ReportRange,
    { after, limit }: { after: number; limit: number },
  ): Promise<StaffReportPage> {
    const intervals = new ReportIntervals(range);
    const staff: StaffMemberReport[] = [];
    let bytes = 0;
    let position = after;
    for (let searched = 0; searched < MAX_SEARCHED; searched += STAFF_PER_SEARCH) {
      const search = { after: position, limit: STAFF_PER_SEARCH };
      const found = await findStaff(this.#database, guildId, intervals, search);
      const active = found.filter(({ isActive }) => isActive).map(({ gameId }) => gameId);
      // One more than the page may have shows whether there is another page.
      const missing = () => limit + 1 - staff.length;
      for await (const member of this.#members(guildId, active, intervals, missing)) {
        const last = staff.at(-1);
        if (last && (staff.length === limit || bytes > MAX_TYPE_BYTES)) return { intervals, staff, next: last.gameId };
        staff.push(member);
        bytes += typeBytesOf(member);
      }
      if (found.length < STAFF_PER_SEARCH) return { intervals, staff, next: undefined };
      position = found.at(-1)?.gameId ?? position;
    }
    return { intervals, staff, next: position };
  }

  /**
   * Yields the activity of staff members, without those who were not active in any interval. While the days of some are being
   * added up, those of the next ones are read, if the page needs them: `missing` returns how many it still needs.
   */
  async *#members(
    guildId: string,
    gameIds: readonly number[],
    intervals: ReportIntervals,
    missing: () => number,
  ): AsyncGenerator<StaffMemberReport> {
    let next = 0;
    const startRead = (amount: number) => {
      const ids = gameIds.slice(next, next + Math.max(0, Math.min(STAFF_PER_READ, amount)));
      if (ids.length === 0) return undefined;
      next += ids.length;
      const rows = readStaffDays(this.#database, guildId, ids, intervals);
      // If the page ends before these days are needed, nobody waits for them.
      rows.catch(() => undefined);
      return { ids, rows };
    };
    for (let read = startRead(missing()); read; ) {
      const rows = await read.rows;
      const ahead = startRead(missing() - read.ids.length);
      yield* activeMembers(read.ids, rows, intervals);
      read = ahead ?? startRead(missing());
    }
  }
}

/** Adds up the days of staff members. Leaves out those who were not active in any interval. */
function activeMembers(
  gameIds: readonly number[],
  rows: readonly (StaffDay | OpenSession)[],
  intervals: ReportIntervals,
): StaffMemberReport[] {
  const byMember = new Map(gameIds.map((gameId) => [gameId, new StaffCounts(intervals)]));
  for (const row of rows) {
    const counts = byMember.get(row.gameId);
    if (row.day === null) counts?.addOpenSession(row);
    else counts?.addDay(row);
  }
  const members = [...byMember].map(([gameId, counts]) => ({ gameId, counts }));
  return members.filter(({ counts }) => intervals.intervals.some((_, index) => counts.isActive(index)));
}

/** Returns about how many bytes the counts by action type take in a response. */
function typeBytesOf({ counts: { actions } }: StaffMemberReport): number {
  let bytes = 0;
  for (const [type, column] of actions) {
    const listed = column.reduce((sum, count) => sum + Number(count > 0), 0);
    bytes += (Buffer.byteLength(type) + 6) * listed;
  }
  return bytes;
}

import type { Queryable } from '#kit/postgres/pool.ts';
import * as store from '../store/staff-totals.ts';
import { boundariesOf, type ReportInterval } from './report-intervals.ts';

export interface ReportRequest {
  /** Unix seconds. The report covers whole intervals: those that contain `from` and `to`, and all between them. */
  from: number;
  to: number;
  interval: ReportInterval;
  /** An IANA time zone, in which days and weeks begin at midnight. */
  tz: string;
  /** The `next` of the previous page; 0 for the first page. */
  after: number;
  /** The maximum number of staff members. */
  limit: number;
}

/** What a staff member did in an interval. */
export interface IntervalTotals {
  start: Date;
  end: Date;
  sessions: number;
  seconds: number;
  idleSeconds: number;
  /** The number of actions by type, for the most frequent types. */
  actions: Map<string, number>;
  otherActions: number;
}

export interface StaffReport {
  start: Date;
  end: Date;
  /** Intervals in which a staff member did nothing are left out. */
  staff: { gameId: number; intervals: IntervalTotals[] }[];
  next: number | undefined;
}

/** Reports what staff members did by day or week, from totals that are kept up to date with each change. */
export class StaffReports {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  /** Returns a page of staff members who did something in the time of the report, by game ID. */
  async read(guildId: string, { from, to, interval, tz, after, limit }: ReportRequest): Promise<StaffReport> {
    const boundaries = boundariesOf(from, to, interval, tz);
    const [start, end] = [boundaries[0] as Date, boundaries.at(-1) as Date];
    const found = await store.listStaff(this.#database, guildId, { from: start, to: end }, { after, limit: limit + 1 });
    const page = found.slice(0, limit);
    const isCut = found.length > limit || page.at(-1)?.isActive === false;
    const gameIds = page.filter(({ isActive }) => isActive).map(({ gameId }) => gameId);
    const staff = await this.#totals(guildId, { gameIds, boundaries });
    return { start, end, staff, next: isCut ? page.at(-1)?.gameId : undefined };
  }

  async #totals(guildId: string, query: store.TotalsQuery): Promise<StaffReport['staff']> {
    if (query.gameIds.length === 0) return [];
    const [sessions, actions] = await Promise.all([
      store.readSessionTotals(this.#database, guildId, query),
      store.readActionTotals(this.#database, guildId, query),
    ]);
    const staff = new Map(query.gameIds.map((gameId) => [gameId, new IntervalList(query.boundaries)]));
    for (const { gameId, interval, ...totals } of sessions)
      Object.assign(staff.get(gameId)?.at(interval) ?? {}, totals);
    for (const { gameId, interval, actions: byType } of actions) {
      const totals = staff.get(gameId)?.at(interval);
      if (!totals) continue;
      totals.actions = new Map(Object.entries(byType));
      totals.otherActions = totals.actions.get('') ?? 0;
      totals.actions.delete('');
    }
    return [...staff].flatMap(([gameId, list]) => {
      const intervals = list.used();
      return intervals.length > 0 ? [{ gameId, intervals }] : [];
    });
  }
}

/** The totals of one staff member, by interval. */
class IntervalList {
  readonly #boundaries: readonly Date[];
  readonly #totals: IntervalTotals[] = [];

  constructor(boundaries: readonly Date[]) {
    this.#boundaries = boundaries;
  }

  /** Returns the totals of an interval; they are created when they are first needed. */
  at(index: number): IntervalTotals {
    const [start, end] = [this.#boundaries[index] as Date, this.#boundaries[index + 1] as Date];
    const empty = { sessions: 0, seconds: 0, idleSeconds: 0, otherActions: 0 };
    this.#totals[index] ??= { start, end, ...empty, actions: new Map() };
    return this.#totals[index];
  }

  /** Returns the intervals in which something happened, in order. */
  used(): IntervalTotals[] {
    const isUsed = ({ sessions, seconds, actions, otherActions }: IntervalTotals) =>
      sessions + seconds + actions.size + otherActions > 0;
    return this.#totals.filter(isUsed);
  }
}

import type { HttpHandlers } from '#kit/http/app.ts';
import { decodeCursor, encodeCursor, NO_CURSOR } from '#kit/http/cursor.ts';
import { ok } from '#kit/http/envelope.ts';
import { positionCodec } from '#kit/http/page-position.ts';
import type { activityRoutes } from '#proto/rest/activity.ts';
import { QUARTER_SECONDS } from '../domain/report-intervals.ts';
import type { StaffMemberReport, StaffReport, StaffReportPage } from '../domain/staff-report.ts';

type Handlers = HttpHandlers<typeof activityRoutes>;

/** The position in the cursor: the game ID of the last staff member. */
const positions = positionCodec({ gameId: /[1-9][0-9]{0,15}/ }, { path: 'query.cursor', message: NO_CURSOR });

/** Returns the handler of the report of staff activity. */
export function staffReportHandlers(staffReport: StaffReport): Pick<Handlers, 'readStaffReport'> {
  return {
    async readStaffReport({ guildId, query }) {
      const { limit, cursor, from, to, interval = 'day', tz = 'UTC' } = query;
      const scope = { route: 'staff report', guildId, filters: { from, to, interval, tz } };
      const after = cursor === undefined ? 0 : Number(positions.read(decodeCursor(scope, cursor)).gameId);
      const page = await staffReport.page(guildId, { from, to, interval, tz }, { after, limit });
      const next = page.next === undefined ? null : encodeCursor(scope, positions.write({ gameId: page.next }));
      return ok({ interval, ...reportView(page), next_cursor: next });
    },
  };
}

function reportView({ intervals, staff }: StaffReportPage) {
  return {
    tz: intervals.tz,
    intervals: intervals.intervals.map(({ date, first, end }) => ({
      date,
      starts_at: first * QUARTER_SECONDS,
      ends_at: end * QUARTER_SECONDS,
    })),
    staff: staff.map((member) => memberView(member, intervals)),
  };
}

function memberView({ gameId, counts }: StaffMemberReport, intervals: StaffReportPage['intervals']) {
  return {
    game_id: gameId,
    intervals: intervals.intervals.flatMap(({ date }, index) => {
      if (!counts.isActive(index)) return [];
      return {
        date,
        sessions: counts.sessions[index] ?? 0,
        seconds: counts.seconds[index] ?? 0,
        idle_seconds: counts.idleSeconds[index] ?? 0,
        action_count: counts.actionCount[index] ?? 0,
        actions: actionsView(counts, index),
      };
    }),
  };
}

function actionsView({ actions }: StaffMemberReport['counts'], index: number): Record<string, number> {
  const view: Record<string, number> = {};
  for (const [type, column] of actions) {
    const count = column[index] ?? 0;
    if (count === 0) continue;
    // Clients choose the names of types: an assignment to this one would set the object's prototype.
    if (type === '__proto__') Object.defineProperty(view, type, { value: count, enumerable: true });
    else view[type] = count;
  }
  return view;
}

import { unixSeconds } from '#kit/clock.ts';
import type { HttpHandlers } from '#kit/http/app.ts';
import { type CursorScope, decodeCursor, encodeCursor, NO_CURSOR } from '#kit/http/cursor.ts';
import { ok } from '#kit/http/envelope.ts';
import { positionCodec } from '#kit/http/page-position.ts';
import type { activityRoutes } from '#proto/rest/activity.ts';
import type { StaffRecords } from '../domain/staff-records.ts';
import type { StaffReports } from '../domain/staff-report.ts';
import type { TimePosition } from '../store/time-lists.ts';
import { reportedStaffView } from './report-view.ts';
import { actionView, sessionView } from './views.ts';

type Handlers = HttpHandlers<typeof activityRoutes>;

/** The position in the cursor of a list by time: the time in Unix microseconds and the ID of the last row. */
const positions = positionCodec(
  { micros: /[0-9]{1,17}/, id: /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/ },
  { path: 'query.cursor', message: NO_CURSOR },
);

/** The position in the cursor of a report: the game ID of the last staff member. */
const reportPositions = positionCodec({ gameId: /[1-9][0-9]{0,15}/ }, { path: 'query.cursor', message: NO_CURSOR });

/** Returns the handlers of the routes that read what staff members did. */
export function staffReadHandlers({
  staffRecords,
  staffReports,
}: {
  staffRecords: StaffRecords;
  staffReports: StaffReports;
}): Pick<Handlers, 'listSessions' | 'listActions' | 'reportStaff'> {
  return {
    async reportStaff({ guildId, query }) {
      const { limit, cursor, from, to, interval, tz } = query;
      const scope = { route: 'staff report', guildId, filters: { from, to, interval, tz } };
      const after = cursor === undefined ? 0 : Number(reportPositions.read(decodeCursor(scope, cursor)).gameId);
      const report = await staffReports.read(guildId, { from, to, interval, tz, after, limit });
      return ok({
        interval,
        tz,
        from: unixSeconds(report.start),
        to: unixSeconds(report.end),
        staff: report.staff.map(reportedStaffView),
        next_cursor:
          report.next === undefined ? null : encodeCursor(scope, reportPositions.write({ gameId: report.next })),
      });
    },
    async listSessions({ guildId, query }) {
      const { limit, cursor, game_id: gameId, open, from, to } = query;
      const scope = { route: 'staff sessions', guildId, filters: { gameId, open, from, to } };
      const page = { limit, after: positionIn(scope, cursor) };
      const { rows, next } = await staffRecords.sessions(guildId, { gameId, open, ...timesOf(from, to) }, page);
      return ok({ sessions: rows.map(sessionView), next_cursor: cursorOf(scope, next) });
    },
    async listActions({ guildId, query }) {
      const { limit, cursor, from, to } = query;
      const { actor_game_id: actorGameId, target_game_id: targetGameId, action_type: type } = query;
      const filters = { actorGameId, targetGameId, type };
      const scope = { route: 'staff actions', guildId, filters: { ...filters, from, to } };
      const page = { limit, after: positionIn(scope, cursor) };
      const { rows, next } = await staffRecords.actions(guildId, { ...filters, ...timesOf(from, to) }, page);
      return ok({
        actions: rows.map((action) => actionView(action, action.loggedAt)),
        next_cursor: cursorOf(scope, next),
      });
    },
  };
}

/** Converts the parameters `from` and `to`, both inclusive and in Unix seconds, to an exclusive end. */
const timesOf = (from: number | undefined, to: number | undefined) => ({
  from: from === undefined ? undefined : new Date(from * 1000),
  before: to === undefined ? undefined : new Date((to + 1) * 1000),
});

const positionIn = (scope: CursorScope, cursor: string | undefined): TimePosition | undefined =>
  cursor === undefined ? undefined : positions.read(decodeCursor(scope, cursor));
const cursorOf = (scope: CursorScope, position: TimePosition | undefined) =>
  position === undefined ? null : encodeCursor(scope, positions.write({ ...position }));

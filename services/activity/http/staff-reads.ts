import type { HttpHandlers } from '#kit/http/app.ts';
import { type CursorScope, decodeCursor, encodeCursor, NO_CURSOR } from '#kit/http/cursor.ts';
import { ok } from '#kit/http/envelope.ts';
import { positionCodec } from '#kit/http/page-position.ts';
import type { activityRoutes } from '#proto/rest/activity.ts';
import type { StaffRecords } from '../domain/staff-records.ts';
import type { TimePosition } from '../store/time-lists.ts';
import { actionView, sessionView } from './views.ts';

type Handlers = HttpHandlers<typeof activityRoutes>;

/** The position in the cursor of a list by time: the time in Unix microseconds and the ID of the last row. */
const positions = positionCodec(
  { micros: /[0-9]{1,17}/, id: /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/ },
  { path: 'query.cursor', message: NO_CURSOR },
);

/** Returns the handlers of the routes that read what staff members did. */
export function staffReadHandlers(staffRecords: StaffRecords): Pick<Handlers, 'listSessions' | 'listActions'> {
  return {
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

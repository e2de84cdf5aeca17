import type { Queryable } from '#kit/postgres/pool.ts';
import * as sessions from '../store/sessions.ts';
import * as staff from '../store/staff.ts';
import type { TimePosition } from '../store/time-lists.ts';

export interface PageRequest {
  /** The `next` of the previous page; undefined for the first page. */
  after: TimePosition | undefined;
  limit: number;
}

interface Page<Row> {
  rows: Row[];
  /** The position at which the next page begins; undefined on the last page. */
  next: TimePosition | undefined;
}

/** Lists stored staff sessions and actions, the newest first. */
export class StaffRecords {
  readonly #database: Queryable;

  constructor(database: Queryable) {
    this.#database = database;
  }

  /** Returns a page of the staff sessions of a guild, ordered by their start. */
  async sessions(
    guildId: string,
    filters: sessions.SessionFilters,
    page: PageRequest,
  ): Promise<Page<sessions.Session>> {
    const found = await sessions.listSessions(this.#database, guildId, filters, { ...page, limit: page.limit + 1 });
    return pageOf(found, page.limit, ({ sessionId }) => sessionId);
  }

  /** Returns a page of the staff actions of a guild, ordered by the time at which they occurred. */
  async actions(guildId: string, filters: staff.ActionFilters, page: PageRequest): Promise<Page<staff.StoredAction>> {
    const found = await staff.listActions(this.#database, guildId, filters, { ...page, limit: page.limit + 1 });
    return pageOf(found, page.limit, ({ actionId }) => actionId);
  }
}

/** Cuts a page of rows of which one more than `limit` was requested. */
function pageOf<Row extends { micros: string }>(found: Row[], limit: number, idOf: (row: Row) => string): Page<Row> {
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  return { rows, next: last && { micros: last.micros, id: idOf(last) } };
}

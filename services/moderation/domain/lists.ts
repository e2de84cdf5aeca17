import { invalidRequest } from '#kit/errors.ts';
import { type ChangeTime, readChangeTime } from '#kit/postgres/change-time.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import * as store from '../store/reads.ts';
import type { Kind, LogEntry, Punishment } from './punishment.ts';

/** The position in a list at which a page begins. Every page reports the server time of the first page. */
interface Position {
  /** The value of the sort column in Unix milliseconds. null stands for a permanent punishment, which sorts last. */
  at: number | null;
  id: number;
  serverTime: number;
}

export interface ListQuery {
  guildId: string;
  kind: Kind;
  /**
   * The ID of the place whose punishments are listed together with the global ones; if undefined, all punishments are
   * listed.
   */
  placeId: number | undefined;
  /** The player whose punishments are listed; if undefined, those of all players. Ignored in lists of changes. */
  gameId?: number | undefined;
  limit: number;
  /** The `next` of the previous page; undefined for the first page. */
  position: string | undefined;
}

export interface PunishmentPage {
  punishments: Punishment[];
  /** Punishments that were lifted before they expired; undefined in a list of active punishments. */
  lifted?: LiftedPunishment[];
  /** The server time in Unix milliseconds. A client that later requests the changes since this time misses none. */
  serverTime: number;
  next: string | undefined;
}

export type LiftedPunishment = Punishment & { liftedAt: Date };

/** Lists punishments and log entries, page by page. */
export class Lists {
  readonly #database: Queryable;
  readonly #marginMs: number | undefined;

  /**
   * `marginMs` milliseconds are subtracted from the server time of responses; by default the margin of
   * `readChangeTime`.
   */
  constructor(database: Queryable, marginMs?: number) {
    this.#database = database;
    this.#marginMs = marginMs;
  }

  /** Returns a page of the punishments in force. */
  async active({ guildId, kind, placeId, gameId, limit, position }: ListQuery): Promise<PunishmentPage> {
    const { at, id, serverTime } = await this.#start(position, ({ now }) => now);
    const after = { expiresAt: at === null ? null : new Date(at), id };
    const page = { after, limit: limit + 1 };
    const rows = await store.listActive(this.#database, guildId, { kind, placeId, gameId }, page);
    const punishments = rows.slice(0, limit);
    const last = rows.length > limit ? punishments.at(-1) : undefined;
    const next = last && encodePosition({ at: last.expiresAt?.getTime() ?? null, id: last.id, serverTime });
    return { punishments, serverTime, next };
  }

  /** Returns a page of the punishments that were created or lifted after `since`, in Unix milliseconds. */
  async changed(query: ListQuery, since: number): Promise<PunishmentPage & { lifted: LiftedPunishment[] }> {
    const { guildId, kind, placeId, limit, position } = query;
    const { at, id, serverTime } = await this.#start(position, () => since);
    const page = { after: { updatedAt: new Date(at ?? 0), id }, limit: limit + 1 };
    const rows = await store.listChanged(this.#database, guildId, { kind, placeId }, page);
    const changes = rows.slice(0, limit);
    const last = rows.length > limit ? changes.at(-1) : undefined;
    return {
      punishments: changes.filter(({ isInForce }) => isInForce),
      lifted: changes.filter((row) => row.liftedAt !== null) as LiftedPunishment[],
      serverTime,
      next: last && encodePosition({ at: last.updatedAt.getTime(), id: last.id, serverTime }),
    };
  }

  /** Returns the punishments in force against a player in any place, and the newest log entries about the player. */
  async player(
    guildId: string,
    gameId: number,
    limit: number,
  ): Promise<{ punishments: Punishment[]; entries: LogEntry[] }> {
    const [punishments, entries] = await Promise.all([
      store.listPlayerPunishments(this.#database, guildId, gameId, limit),
      store.listLog(this.#database, guildId, { gameId }, { after: undefined, limit }),
    ]);
    return { punishments, entries };
  }

  /** Returns a page of the log, the newest entries first; `from` and `to` are in Unix seconds, both inclusive. */
  async log(
    guildId: string,
    { from, to, ...filters }: Omit<store.LogFilters, 'from' | 'before'> & { from?: number; to?: number },
    { limit, position }: { limit: number; position: string | undefined },
  ): Promise<{ entries: LogEntry[]; next: string | undefined }> {
    const times = {
      from: from === undefined ? undefined : new Date(from * 1000),
      before: to === undefined ? undefined : new Date((to + 1) * 1000),
    };
    const start = position === undefined ? undefined : decodePosition(position);
    const after = start && { createdAt: new Date(start.at ?? 0), id: start.id };
    const rows = await store.listLog(this.#database, guildId, { ...filters, ...times }, { after, limit: limit + 1 });
    const entries = rows.slice(0, limit);
    const last = rows.length > limit ? entries.at(-1) : undefined;
    return { entries, next: last && encodePosition({ at: last.createdAt.getTime(), id: last.id, serverTime: 0 }) };
  }

  /** Decodes a position, or returns the start of the list. The server time must be read before any row of the list. */
  async #start(position: string | undefined, from: (time: ChangeTime) => number): Promise<Position> {
    if (position !== undefined) return decodePosition(position);
    const time = await readChangeTime(this.#database, this.#marginMs);
    return { at: Math.floor(from(time)), id: 0, serverTime: time.completeUntil };
  }
}

const POSITION = /^([0-9]{1,16}|never)_([0-9]{1,16})_([0-9]{1,16})$/;

/** The last time that a JavaScript Date can hold, in Unix milliseconds. */
const MAX_TIME_MS = 8.64e15;

function encodePosition({ at, id, serverTime }: Position): string {
  return `${at ?? 'never'}_${id}_${serverTime}`;
}

/**
 * Decodes the position in a cursor. Rejects a malformed position: cursors are not encrypted, so a client can make one
 * up.
 */
function decodePosition(position: string): Position {
  const [, at, id, serverTime] = POSITION.exec(position) ?? [];
  if (at === undefined || Number(at) > MAX_TIME_MS) {
    throw invalidRequest([{ path: 'query.cursor', message: 'is not a next_cursor of this list' }]);
  }
  return { at: at === 'never' ? null : Number(at), id: Number(id), serverTime: Number(serverTime) };
}

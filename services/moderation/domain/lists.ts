import { invalidRequest } from '#kit/errors.ts';
import { type ChangeTime, readChangeTime } from '#kit/postgres/change-time.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import * as store from '../store/reads.ts';
import type { Kind, LogEntry, Punishment } from './punishment.ts';

/** Where a page begins, and when its list was begun: every page tells the time of the first. */
interface Position {
  /** Unix milliseconds; null stands for never, which is last. */
  at: number | null;
  id: number;
  serverTime: number;
}

export interface ListQuestion {
  guildId: string;
  kind: Kind;
  /** Only what counts there. */
  placeId: number | undefined;
  limit: number;
  /** The `next` of the page before. */
  position: string | undefined;
}

export interface ActivePage {
  punishments: Punishment[];
  /** Lifted before their end; undefined where only what is in force was asked for. */
  lifted?: (Punishment & { liftedAt: Date })[];
  /** Unix milliseconds: whoever asks for changes since then misses none. */
  serverTime: number;
  next: string | undefined;
}

/** Reads back what was decided. */
export class Lists {
  readonly #database: Queryable;
  readonly #marginMs: number | undefined;

  /** `marginMs` is taken off the time of answers; the kit's own where left out. */
  constructor(database: Queryable, marginMs?: number) {
    this.#database = database;
    this.#marginMs = marginMs;
  }

  /** What is in force. */
  async active({ guildId, kind, placeId, limit, position }: ListQuestion): Promise<ActivePage> {
    const { at, id, serverTime } = await this.#start(position, ({ now }) => now);
    const after = { expiresAt: at === null ? null : new Date(at), id };
    const page = { after, limit: limit + 1 };
    const rows = await store.listActive(this.#database, guildId, { kind, placeId }, page);
    const punishments = rows.slice(0, limit);
    const last = rows.length > limit ? punishments.at(-1) : undefined;
    const next = last && write({ at: last.expiresAt?.getTime() ?? null, id: last.id, serverTime });
    return { punishments, serverTime, next };
  }

  /** What was made or lifted since, in Unix milliseconds. */
  async changed(question: ListQuestion, since: number): Promise<ActivePage & { lifted: object[] }> {
    const { guildId, kind, placeId, limit, position } = question;
    const { at, id, serverTime } = await this.#start(position, () => since);
    const page = { after: { updatedAt: new Date(at ?? 0), id }, limit: limit + 1 };
    const rows = await store.listChanged(this.#database, guildId, { kind, placeId }, page);
    const changes = rows.slice(0, limit);
    const last = rows.length > limit ? changes.at(-1) : undefined;
    return {
      punishments: changes.filter(({ isInForce }) => isInForce),
      lifted: changes.filter((row) => row.liftedAt !== null) as (Punishment & { liftedAt: Date })[],
      serverTime,
      next: last && write({ at: last.updatedAt.getTime(), id: last.id, serverTime }),
    };
  }

  /** What is in force against a player in any place, and the newest entries of the log. */
  async player(
    guildId: string,
    gameId: number,
    limit: number,
  ): Promise<{ punishments: Punishment[]; entries: LogEntry[] }> {
    const [punishments, entries] = await Promise.all([
      store.listOfPlayer(this.#database, guildId, gameId, limit),
      store.listLog(this.#database, guildId, { gameId }, { after: undefined, limit }),
    ]);
    return { punishments, entries };
  }

  /** A page of the log, newest first; `from` and `to` in Unix seconds, both included. */
  async log(
    guildId: string,
    { from, to, ...filters }: Omit<store.LogFilters, 'from' | 'before'> & { from?: number; to?: number },
    { limit, position }: { limit: number; position: string | undefined },
  ): Promise<{ entries: LogEntry[]; next: string | undefined }> {
    const times = {
      from: from === undefined ? undefined : new Date(from * 1000),
      before: to === undefined ? undefined : new Date((to + 1) * 1000),
    };
    const start = position === undefined ? undefined : read(position);
    const after = start && { createdAt: new Date(start.at ?? 0), id: start.id };
    const rows = await store.listLog(this.#database, guildId, { ...filters, ...times }, { after, limit: limit + 1 });
    const entries = rows.slice(0, limit);
    const last = rows.length > limit ? entries.at(-1) : undefined;
    return { entries, next: last && write({ at: last.createdAt.getTime(), id: last.id, serverTime: 0 }) };
  }

  /** The position, or that before the first row of a time; its server time is read before any row. */
  async #start(position: string | undefined, from: (time: ChangeTime) => number): Promise<Position> {
    if (position !== undefined) return read(position);
    const time = await readChangeTime(this.#database, this.#marginMs);
    return { at: Math.floor(from(time)), id: 0, serverTime: time.completeUntil };
  }
}

const POSITION = /^([0-9]{1,16}|never)_([0-9]{1,16})_([0-9]{1,16})$/;

function write({ at, id, serverTime }: Position): string {
  return `${at ?? 'never'}_${id}_${serverTime}`;
}

/** A cursor's position may have been made up. */
function read(position: string): Position {
  const [, at, id, serverTime] = POSITION.exec(position) ?? [];
  if (at === undefined || Number(at) > LATEST_MS) {
    throw invalidRequest([{ path: 'query.cursor', message: 'is not a next_cursor of this list' }]);
  }
  return { at: at === 'never' ? null : Number(at), id: Number(id), serverTime: Number(serverTime) };
}

/** The last time that a Date can hold. */
const LATEST_MS = 8.64e15;

import type { Database } from '#kit/postgres/pool.ts';
import { confirmStreams, removeDeadStreams, removeStreams, removeSurplusStreams } from '../store/streams.ts';
import type { EventStream } from './event-stream.ts';

/** The maximum number of streams of a guild over all processes. */
export const MAX_STREAMS_PER_GUILD = 20;
const BATCH = 1_000;

export interface StreamPlacesOptions {
  database: Database;
  /** Returns a stream of this process. */
  find: (guildId: string, id: string) => EventStream | undefined;
  /** Called for each stream of another process that has lost its place. */
  lostElsewhere: (guildId: string, id: string) => void;
}

/**
 * The places of a guild's streams, which all processes share: a new stream takes the place of the oldest one. While the
 * database is unavailable, streams stay open without a place; they get one at the next confirmation.
 */
export class StreamPlaces {
  readonly #options: StreamPlacesOptions;
  /** Streams that opened and ended, and whose rows are not yet added and removed. */
  #opened: EventStream[] = [];
  #ended: EventStream[] = [];
  #work: Promise<void> | undefined;

  constructor(options: StreamPlacesOptions) {
    this.#options = options;
  }

  /** Takes a place for a new stream, together with others that open at the same time. */
  take(stream: EventStream): void {
    this.#opened.push(stream);
    this.#work ??= this.#settle();
  }

  release(stream: EventStream): void {
    this.#ended.push(stream);
    this.#work ??= this.#settle();
  }

  /** Resolves when all places that were taken and released are stored, or the database has failed to do so. */
  async settled(): Promise<void> {
    await this.#work;
  }

  /** Confirms the places of all streams of this process, and removes the streams of processes that died. */
  async confirm(streams: readonly EventStream[]): Promise<void> {
    for (let start = 0; start < streams.length; start += BATCH)
      await this.#confirm(streams.slice(start, start + BATCH));
    await removeDeadStreams(this.#options.database);
  }

  async #settle(): Promise<void> {
    while (this.#opened.length + this.#ended.length > 0) {
      const opened = this.#opened.splice(0, BATCH);
      // Streams without a place get one at the next confirmation, and rows that were not removed expire.
      await this.#confirm(opened).catch(() => undefined);
      const ended = this.#ended.splice(0, BATCH);
      if (ended.length > 0) await removeStreams(this.#options.database, ended).catch(() => undefined);
    }
    this.#work = undefined;
  }

  async #confirm(streams: readonly EventStream[]): Promise<void> {
    const { database, find, lostElsewhere } = this.#options;
    const open = streams.filter(({ hasEnded }) => !hasEnded);
    if (open.length === 0) return;
    const openedAt = new Map((await confirmStreams(database, open)).map((row) => [row.id, row.openedAt]));
    for (const stream of open) stream.openedAt = openedAt.get(stream.id) ?? stream.openedAt;
    // Streams that ended meanwhile may have been removed before they were added.
    const gone = open.filter(({ hasEnded }) => hasEnded);
    if (gone.length > 0) await removeStreams(database, gone);
    const guildIds = [...new Set(open.map(({ guildId }) => guildId))];
    for (const { guildId, id } of await removeSurplusStreams(database, guildIds, MAX_STREAMS_PER_GUILD)) {
      const own = find(guildId, id);
      if (own) own.end('replaced');
      else lostElsewhere(guildId, id);
    }
  }
}

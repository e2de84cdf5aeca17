import { randomUUID } from 'node:crypto';
import pLimit from 'p-limit';
import { ApiError } from '#kit/errors.ts';
import { COMMENT_EVERY_MS } from '#kit/http/event-stream.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { SingleFlight } from '#kit/resilience/single-flight.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import { EVENT_TYPE_NAMES } from '#proto/rest/events/index.ts';
import { type ReadEvents, readNewestSeqs } from '../store/log.ts';
import { bytesAfter } from '../store/streams.ts';
import type { EventsTelemetry } from '../telemetry/log.ts';
import { EventStream, type StreamEnd, type StreamSink } from './event-stream.ts';
import type { EventLog } from './log.ts';
import { StreamPlaces } from './stream-places.ts';
import type { Wakeups } from './wakeups.ts';

const CHECK_MS = 1_000;
const COMMENT_CHECKS = COMMENT_EVERY_MS / CHECK_MS;
/** Streams look for events by themselves in case a notification was lost. */
const RECHECK_CHECKS = 5;
const CONFIRM_CHECKS = 15;
const GUILDS_PER_RECHECK = 500;
/** The number of reads for all streams at the same time; fewer than there are database connections. */
const MAX_READERS = 2;
const MAX_PAGE_EVENTS = 100;
const MAX_PAGE_BYTES = 64 * 1024;
/**
 * A stream is ended if its reader has read nothing for a second, and events of more bytes than this were stored since
 * the reader had all events, or since the stream opened.
 */
const MAX_BACKLOG_BYTES = 1024 * 1024;
/** The maximum number of readers whose backlog one check measures. */
const MAX_BACKLOGS = 50;

export interface StreamsOptions {
  log: EventLog;
  database: Database;
  wakeups: Wakeups;
  telemetry: EventsTelemetry;
  /** Called for each stream of another process that must end, because its guild has too many. */
  lostElsewhere: (guildId: string, id: string) => void;
  /** The maximum number of open streams of this process. */
  maxStreams: number;
}

/** A reader's wish for a stream: its events, and the seq after which it begins; null begins with the oldest event. */
export interface StreamRequest {
  guildId: string;
  types: readonly string[];
  after: number | null;
}

/** The open streams of events of this process. An open stream holds no database connection. */
export class Streams implements Part {
  readonly name = 'streams';
  readonly #options: StreamsOptions;
  readonly #guilds = new Map<string, Map<string, EventStream>>();
  readonly #places: StreamPlaces;
  readonly #reads = new SingleFlight<ReadEvents>();
  readonly #limit = pLimit(MAX_READERS);
  #size = 0;
  #checks = 0;
  /** The number of times that streams were woken. */
  #wakes = 0;
  #isDraining = false;
  #isChecking = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: StreamsOptions) {
    this.#options = options;
    const find = (guildId: string, id: string) => this.#guilds.get(guildId)?.get(id);
    this.#places = new StreamPlaces({ ...options, find });
  }

  get size(): number {
    return this.#size;
  }

  async start(): Promise<void> {
    this.#options.wakeups.onWake((guildIds) => {
      if (guildIds === undefined) void this.#recheck().catch(() => undefined);
      else for (const guildId of guildIds) this.#wake(guildId);
    });
    this.#timer = setInterval(() => this.#check(), CHECK_MS).unref();
  }

  /** Ends all streams, whose readers then connect to another process. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    const streams = this.#all();
    for (const stream of streams) stream.end('drain');
    clearInterval(this.#timer);
    await this.#places.settled();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
  }

  /** Reads the first events of a stream. Throws EVENTS_GONE, and UNAVAILABLE if the process has too many streams. */
  async first({ guildId, types, after }: StreamRequest): Promise<ReadEvents> {
    if (this.#size >= this.#options.maxStreams) throw new ApiError('UNAVAILABLE', { retryAfter: 1 });
    return this.#read(guildId, after, types);
  }

  /** Opens a stream with its first events. It takes a place of its guild; the guild's oldest stream may lose its one. */
  open({ guildId, types }: StreamRequest, first: ReadEvents, sink: StreamSink): EventStream {
    const stream = new EventStream({
      id: randomUUID(),
      guildId,
      types,
      sink,
      read: (after, isAtHead) => this.#read(guildId, after, isAtHead ? undefined : types),
      ended: (end) => this.#remove(stream, end),
    });
    const streams = this.#guilds.get(guildId) ?? new Map<string, EventStream>();
    this.#guilds.set(guildId, streams.set(stream.id, stream));
    this.#size++;
    stream.begin(first);
    if (this.#isDraining) stream.end('drain');
    else this.#places.take(stream);
    return stream;
  }

  /** Ends a stream of this process that another process has found to be surplus. */
  endReplaced(guildId: string, id: string): void {
    this.#guilds.get(guildId)?.get(id)?.end('replaced');
  }

  #all(): EventStream[] {
    return [...this.#guilds.values()].flatMap((streams) => [...streams.values()]);
  }

  #remove(stream: EventStream, end: StreamEnd): void {
    const streams = this.#guilds.get(stream.guildId);
    if (!streams?.delete(stream.id)) return;
    if (streams.size === 0) this.#guilds.delete(stream.guildId);
    this.#size--;
    this.#options.telemetry.streamEnded(end);
    this.#places.release(stream);
  }

  /**
   * Streams that have all events read all types, so that one read serves all of them. A read that began before a wake may
   * not have the event that the wake is for.
   */
  #read(guildId: string, after: number | null, types?: readonly string[]): Promise<ReadEvents> {
    const key = `${this.#wakes} ${guildId} ${after} ${types?.join() ?? '*'}`;
    return this.#reads.run(key, () => this.#limit(() => this.#readLog(guildId, after, types ?? EVENT_TYPE_NAMES)));
  }

  #readLog(guildId: string, after: number | null, types: readonly string[]): Promise<ReadEvents> {
    return this.#options.log.read({ guildId, after, types, limit: MAX_PAGE_EVENTS, maxBytes: MAX_PAGE_BYTES });
  }

  #wake(guildId: string): void {
    this.#wakes++;
    for (const stream of this.#guilds.get(guildId)?.values() ?? []) stream.wake();
  }

  #check(): void {
    this.#checks++;
    for (const streams of this.#guilds.values()) {
      for (const stream of streams.values()) stream.check();
    }
    this.#sendComments();
    if (this.#isChecking) return;
    this.#isChecking = true;
    // While the database is unavailable, the next check tries again.
    void this.#checkDatabase()
      .catch(() => undefined)
      .finally(() => (this.#isChecking = false));
  }

  /** Each check sends the comments of a part of the streams, so that not all are written at the same time. */
  #sendComments(): void {
    for (const stream of this.#all()) {
      const turn = Number.parseInt(stream.id.slice(0, 8), 16);
      if ((turn + this.#checks) % COMMENT_CHECKS === 0) stream.comment();
    }
  }

  async #checkDatabase(): Promise<void> {
    await this.#endBacklogs();
    if (this.#checks % RECHECK_CHECKS === 0) await this.#recheck();
    if (this.#checks % CONFIRM_CHECKS === 0) await this.#places.confirm(this.#all());
  }

  async #endBacklogs(): Promise<void> {
    const blocked = this.#all().filter(({ backlogAfter }) => backlogAfter !== undefined);
    for (const stream of blocked.slice(0, MAX_BACKLOGS)) {
      const { guildId, backlogAfter } = stream;
      if (backlogAfter === undefined) continue;
      const bytes = await bytesAfter(this.#options.database, guildId, backlogAfter);
      if (bytes > MAX_BACKLOG_BYTES && stream.backlogAfter === backlogAfter) stream.end('behind');
    }
  }

  /** Looks for guilds with events that their streams have not seen, many guilds at a time. */
  async #recheck(): Promise<void> {
    const guildIds = [...this.#guilds.keys()];
    for (let start = 0; start < guildIds.length; start += GUILDS_PER_RECHECK) {
      const newest = await readNewestSeqs(this.#options.database, guildIds.slice(start, start + GUILDS_PER_RECHECK));
      this.#wakes++;
      for (const { guildId, newestSeq } of newest) {
        for (const stream of this.#guilds.get(guildId)?.values() ?? []) if (stream.position < newestSeq) stream.wake();
      }
    }
  }
}

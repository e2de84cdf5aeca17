import { ApiError } from '#kit/errors.ts';
import type { ReadEvents } from '../store/log.ts';
import type { LogEvent } from './log-event.ts';

/**
 * Why the service ended a stream: the process drains, the reader is too far behind (`behind`), the guild opened more
 * streams than it may have (`replaced`), or the next events are no longer retained (`gone`). `client`: the client
 * disconnected.
 */
export const STREAM_ENDS = ['drain', 'behind', 'replaced', 'gone', 'client'] as const;
export type StreamEnd = (typeof STREAM_ENDS)[number];

/** Where a stream writes to. */
export interface StreamSink {
  /** Writes events. Returns false if the reader must read before more is written; `resume` of the stream is called then. */
  write(events: readonly LogEvent[]): boolean;
  /** Writes a comment, with the seq up to which events were examined if the reader does not know it. */
  comment(examinedSeq: number | undefined): void;
  end(end: StreamEnd): void;
}

export interface EventStreamOptions {
  id: string;
  guildId: string;
  /** The types of the events that the reader gets. */
  types: readonly string[];
  sink: StreamSink;
  /** Reads the events after a seq. `isAtHead`: other streams of the guild may want the same events now. */
  read: (after: number, isAtHead: boolean) => Promise<ReadEvents>;
  ended: (end: StreamEnd) => void;
}

/**
 * The events of a guild for one reader. It has a position in the log and reads the next events only when the reader has
 * taken the last ones, so that a slow reader costs neither memory nor the time of others.
 */
export class EventStream {
  readonly id: string;
  readonly guildId: string;
  /** When the stream opened by the database's clock, in Unix microseconds; null until it is stored. */
  openedAt: number | null = null;
  readonly #options: EventStreamOptions;
  readonly #types: ReadonlySet<string>;
  /** The last seq that was examined. */
  #position = -1;
  /** The last seq that the reader knows. */
  #sentSeq = -1;
  /** The newest seq when the reader last had all events, or when the stream opened. */
  #completeSeq = -1;
  #isComplete = false;
  #isBlocked = false;
  /** The number of checks since the reader has to read first. */
  #blockedChecks = 0;
  #isReading = false;
  #isDirty = false;
  #hasEnded = false;

  constructor(options: EventStreamOptions) {
    this.id = options.id;
    this.guildId = options.guildId;
    this.#options = options;
    this.#types = new Set(options.types);
  }

  get position(): number {
    return this.#position;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The seq after which events count as a backlog, if the reader has not read for a while; otherwise undefined. */
  get backlogAfter(): number | undefined {
    return this.#blockedChecks > 1 ? this.#completeSeq : undefined;
  }

  /** Begins the stream with the first read after the reader's position. */
  begin(first: ReadEvents): void {
    this.#completeSeq = first.newestSeq;
    this.#deliver(first);
    this.wake();
  }

  /** Called when there may be new events, and after a read has failed. */
  wake(): void {
    this.#isDirty = true;
    if (!this.#isReading && !this.#isBlocked && !this.#hasEnded) void this.#read();
  }

  /** Called when the reader has taken everything that was written. */
  resume(): void {
    this.#isBlocked = false;
    this.#blockedChecks = 0;
    this.wake();
  }

  /** Called once a second. Reads again if the last read failed. */
  check(): void {
    if (this.#isBlocked) this.#blockedChecks++;
    else if (this.#isDirty) this.wake();
  }

  comment(): void {
    if (this.#isBlocked || this.#hasEnded) return;
    const isNews = this.#position > this.#sentSeq;
    this.#sentSeq = Math.max(this.#sentSeq, this.#position);
    this.#options.sink.comment(isNews ? this.#position : undefined);
  }

  end(end: StreamEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#options.sink.end(end);
    this.#options.ended(end);
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      while (this.#isDirty && !this.#isBlocked && !this.#hasEnded) {
        this.#isDirty = false;
        const page = await this.#options.read(this.#position, this.#isComplete);
        if (!this.#hasEnded) this.#deliver(page);
      }
    } catch (error) {
      if (error instanceof ApiError && error.code === 'EVENTS_GONE') this.end('gone');
      // The next check reads again.
      this.#isDirty = true;
    } finally {
      this.#isReading = false;
    }
  }

  #deliver({ events, examinedSeq, newestSeq }: ReadEvents): void {
    const own = events.filter(({ seq, type }) => seq > this.#position && this.#types.has(type));
    this.#position = Math.max(this.#position, examinedSeq);
    this.#sentSeq = Math.max(this.#sentSeq, own.at(-1)?.seq ?? -1);
    this.#isComplete = this.#position >= newestSeq;
    if (this.#isComplete) this.#completeSeq = this.#position;
    else this.#isDirty = true;
    if (own.length > 0 && !this.#options.sink.write(own)) this.#isBlocked = true;
  }
}

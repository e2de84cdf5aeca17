import type { Frame } from './frames.ts';

const MAX_FRAMES = 200;
const MAX_BYTES = 128 * 1024;

/** The last events of a stream, for viewers that were disconnected for a moment. */
export class ReplayBuffer {
  readonly #frames: { seq: number; bytes: Buffer }[] = [];
  #bytes = 0;
  /** All events after this seq are in the buffer; undefined before the first frame with a seq. */
  #after: number | undefined;
  #lastSeq: number | undefined;

  /** The seq up to which the stream has been read. */
  get lastSeq(): number | undefined {
    return this.#lastSeq;
  }

  /** Makes an empty buffer begin after the event with this seq. */
  startAfter(seq: number): void {
    this.#after = seq;
    this.#lastSeq = seq;
  }

  add({ seq, bytes, isEvent }: Frame): void {
    if (seq === undefined) return;
    this.#after ??= isEvent ? seq - 1 : seq;
    this.#lastSeq = seq;
    if (!isEvent) return;
    this.#frames.push({ seq, bytes });
    this.#bytes += bytes.length;
    while (this.#frames.length > MAX_FRAMES || this.#bytes > MAX_BYTES) this.#evict();
  }

  /** Returns the events after a seq; undefined if some of them are not in the buffer. */
  since(seq: number): Buffer[] | undefined {
    if (this.#after === undefined || seq < this.#after) return undefined;
    return this.#frames.filter((frame) => frame.seq > seq).map(({ bytes }) => bytes);
  }

  /** Returns the newest events. */
  last(count: number): Buffer[] {
    return this.#frames.slice(-count).map(({ bytes }) => bytes);
  }

  clear(): void {
    this.#frames.length = 0;
    this.#bytes = 0;
    this.#after = undefined;
    this.#lastSeq = undefined;
  }

  #evict(): void {
    const oldest = this.#frames.shift();
    if (!oldest) return;
    this.#bytes -= oldest.bytes.length;
    this.#after = oldest.seq;
  }
}

import { FRAME_END } from '#kit/http/event-stream.ts';

/** The maximum size of a frame in bytes; an event has at most 20 KB. */
const MAX_FRAME_BYTES = 64 * 1024;
const NONE = Buffer.alloc(0);

/** One frame of a stream of server-sent events: an event, or only a comment, an ID or a retry time. */
export interface Frame {
  /** The bytes of the frame with its final empty line. */
  bytes: Buffer;
  seq: number | undefined;
  isEvent: boolean;
  retryMs: number | undefined;
}

/** Splits the bytes of a stream of server-sent events into whole frames. */
export class FrameReader {
  #partial: Buffer = NONE;

  /** Returns the frames that are complete now. Throws if a frame is too large. */
  read(piece: Buffer): Frame[] {
    let rest = this.#partial.length > 0 ? Buffer.concat([this.#partial, piece]) : piece;
    const frames: Frame[] = [];
    for (let end = rest.indexOf(FRAME_END); end >= 0; end = rest.indexOf(FRAME_END)) {
      // Copied, because a frame that is kept would keep the whole buffer of the socket in memory.
      frames.push(readFrame(Buffer.from(rest.subarray(0, end + FRAME_END.length))));
      rest = rest.subarray(end + FRAME_END.length);
    }
    if (rest.length > MAX_FRAME_BYTES) throw new Error('the frame of an event is too large');
    this.#partial = rest.length > 0 ? Buffer.from(rest) : NONE;
    return frames;
  }
}

function readFrame(bytes: Buffer): Frame {
  const text = bytes.toString();
  const numberOf = (field: string) => {
    const [, digits] = new RegExp(`^${field}: ?([0-9]{1,16})$`, 'm').exec(text) ?? [];
    return digits === undefined ? undefined : Number(digits);
  };
  return { bytes, seq: numberOf('id'), isEvent: /^data:/m.test(text), retryMs: numberOf('retry') };
}
